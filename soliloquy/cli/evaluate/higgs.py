"""`soliloquy evaluate higgs`."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import click
from rich.table import Table

from soliloquy.cli.evaluate.delivering import deliver, figures_table
from soliloquy.cli.evaluate.options import problems_option, put_options, report_options, tutor_options
from soliloquy.cli.evaluate.putting import Putting
from soliloquy.cli.evaluate.tutor import chosen_tutor
from training.evaluation.higgs.judging import METRICS
from training.evaluation.higgs.page import page
from training.evaluation.report import format_share


@click.command()
@click.option("--questions", default=25, show_default=True, type=click.IntRange(min=1), help="How many are put.")
@problems_option("physics")
@put_options
@report_options
@tutor_options
@click.pass_context
def higgs(
    context: click.Context,
    /,
    *,
    questions: int,
    problems: str,
    seed: int,
    datasets: Sequence[Path],
    name: str | None,
    in_flight: int,
    model_cache: Path | None,
    out: Path,
    as_json: bool,
    quiet: bool,
    **tutor: Any,
) -> None:
    """Put questions that no training has seen, each once with a right and once with a wrong number from the student.

    The Code Soliloquies paper's four metrics, judged by the truth check and the sandbox: whether Python is used where
    there is a number to verify, and only there; whether the code runs; whether right is told from wrong by it. The
    student is the scripted one, the tutor's model the one that is named; the same seed puts the same cases to each.
    """
    chosen = chosen_tutor(context, problems=problems, cache=model_cache, **tutor)
    putting = Putting(tutor=chosen, questions=questions, seed=seed, in_flight=in_flight, trained=datasets)
    report, results = putting.report(name or chosen.name, quiet=quiet or as_json)
    deliver(out, report, results, page(report, results), tables=[_table(report)], as_json=as_json, quiet=quiet)


def _table(report: dict[str, Any]) -> Table:
    table, made = figures_table(report, METRICS), report["figures"]
    rearranging = made["rearranging"]
    table.add_section()
    table.add_row("questions that need a rearrangement", format_share(rearranging["questions"]), "")
    table.add_row("calculation verification of those", format_share(rearranging["metrics"]["verification"]), "")
    table.add_row("answers read at the first try", format_share(made["read_at_first"]), "")
    return table
