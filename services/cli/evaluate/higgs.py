"""`soliloquy evaluate higgs`."""

import json
from collections.abc import Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import click
from rich.console import Console
from rich.table import Table

from services.cli.evaluate.putting import Putting
from services.cli.evaluate.tutor import chosen_tutor
from services.cli.failure import Failure
from services.cli.model_options import model_options
from training.evaluation.judging import METRICS
from training.evaluation.report import PAPER, PICTURE, told, write_report


@click.command()
@click.option("--questions", default=25, show_default=True, type=click.IntRange(min=1), help="How many are put.")
@click.option("--problems", default="physics", show_default=True, metavar="BANK|FILE", help="Where they are from.")
@click.option("--seed", default=0, show_default=True, type=click.IntRange(min=0), help="All draws follow from it.")
@click.option(
    "--trained",
    "datasets",
    multiple=True,
    metavar="DIR",
    type=click.Path(path_type=Path, exists=True, file_okay=False),
    help="A dataset that the model has learned from: no question of it is put; may be given several times.",
)
@click.option(
    "--weights",
    metavar="DIR",
    type=click.Path(path_type=Path, exists=True, file_okay=False, resolve_path=True),
    help="Run these in this process, instead of asking a --model.",
)
@click.option("--adapter", metavar="NAME|DIR", help="Of the tutor: as the endpoint calls it, or on top of --weights.")
@click.option("--free", is_flag=True, help="Do not hold the answers of --weights to their schema.")
@click.option("--max-tokens", type=click.IntRange(min=1), help="Of an answer, where the settings allow more.")
@click.option("--name", metavar="NAME", help="Of the report; else the model's and the adapter's.")
@click.option("--in-flight", default=16, show_default=True, type=click.IntRange(min=1), help="Cases at once.")
@click.option(
    "--noise", default="none", show_default=True, type=click.Choice(["none", "real"]), help="Imitate real output."
)
@click.option("--out", required=True, type=click.Path(path_type=Path, file_okay=False), help="The report's folder.")
@click.option("--json", "as_json", is_flag=True, help="Print the figures as one JSON object and nothing else.")
@click.option("--quiet", is_flag=True, help="Print nothing but errors.")
@model_options
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
    try:
        write_report(out, report, results)
        _draw(out, report, quiet=quiet or as_json)
    except OSError as error:
        raise Failure(f"{out} cannot be written ({error.strerror}): choose another --out") from error
    if as_json:
        click.echo(json.dumps(report))
    elif not quiet:
        _print(report, out)


def _draw(out: Path, report: dict[str, Any], *, quiet: bool) -> None:
    if find_spec("matplotlib") is None:
        if not quiet:
            click.echo(f"no {PICTURE}: matplotlib is missing: pip install 'soliloquy[train]'", err=True)
        return
    from training.evaluation.picture import draw

    draw(out / PICTURE, {report["name"]: report})


def _print(report: dict[str, Any], out: Path) -> None:
    made = report["figures"]
    table = Table("metric", "share of cases, with its 95 % interval", "the paper's Higgs", title=report["name"])
    for metric, title in METRICS.items():
        table.add_row(title, told(made["metrics"][metric]), f"{PAPER[metric]:.2f}")
    rearranging = made["rearranging"]
    table.add_section()
    table.add_row("questions that need a rearrangement", told(rearranging["questions"]), "")
    table.add_row("calculation verification of those", told(rearranging["metrics"]["verification"]), "")
    table.add_row("answers read at the first try", told(made["read_at_first"]), "")
    Console().print(table)
    click.echo(f"evidence in {out}")
