"""`soliloquy evaluate soliloquy`."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import click
from rich.table import Table

from soliloquy.cli.evaluate.options import problems_option, question_options, report_options, tutor_options
from soliloquy.cli.evaluate.output import deliver, figures_table
from soliloquy.cli.evaluate.tutor import chosen_tutor
from soliloquy.cli.options import count_option
from soliloquy.recipes.soliloquy.evaluate.evaluation import HiggsEvaluation


@click.command()
@count_option("--questions", 25, "Questions to ask.")
@problems_option("physics")
@question_options
@report_options
@tutor_options
@click.pass_context
def soliloquy(
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
    """Evaluate how a tutor verifies numbers, with the four metrics of the Code Soliloquies paper.

    The scripted student answers each question once with a right and once with a wrong number. The truth check and the
    sandbox judge whether the tutor uses Python if and only if there is a number to verify, whether its code runs, and
    whether it tells right from wrong. The same seed gives every model the same cases.
    """
    from soliloquy.recipes.soliloquy.evaluate.page import page

    chosen = chosen_tutor(context, problems=problems, cache=model_cache, **tutor)
    evaluation = HiggsEvaluation(tutor=chosen, questions=questions, seed=seed, in_flight=in_flight, trained=datasets)
    report, results = evaluation.report(name or chosen.name, quiet=quiet or as_json)
    deliver(out, report, results, page(report, results), tables=[_table(report)], as_json=as_json, quiet=quiet)


def _table(report: dict[str, Any]) -> Table:
    from soliloquy.recipes.soliloquy.evaluate.judging import METRICS
    from training.evaluation.report import format_share

    table, made = figures_table(report, METRICS), report["figures"]
    rearranging = made["rearranging"]
    table.add_section()
    table.add_row("questions that need a rearrangement", format_share(rearranging["questions"]), "")
    table.add_row("calculation verification of those", format_share(rearranging["metrics"]["verification"]), "")
    table.add_row("answers read at the first try", format_share(made["read_at_first"]), "")
    return table
