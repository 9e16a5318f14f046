"""`soliloquy problems learn-criteria`: classifiers from word problems that people have judged."""

import json
from dataclasses import asdict
from pathlib import Path

import click
from rich.console import Console

from soliloquy.cli.problems.labelled import word_problems
from soliloquy.cli.tables import table
from soliloquy.problems.files.reading.rows import UnreadableSource
from soliloquy.runs.failure import Failure


@click.command()
@click.option(
    "--labelled",
    "source",
    required=True,
    metavar="FILE",
    type=click.Path(path_type=Path, exists=True, dir_okay=False),
    help="Word problems with true or false for solvable, accurate and appropriate: JSONL, CSV or Parquet.",
)
@click.option("--out", required=True, type=click.Path(path_type=Path, dir_okay=False), help="The classifiers, .npz.")
@click.option("--seed", default=0, show_default=True, type=click.IntRange(min=0), help="Which rows are for the test.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object and nothing else.")
def learn_criteria(*, source: Path, out: Path, seed: int, as_json: bool) -> None:
    """Learn to tell which word problems are solvable, accurate and appropriate, for `problems score --classifiers`.

    A fifth of the rows is for the test. Each label counts as much as its contrary, however rare it is, and the chances
    that come out are calibrated.
    """
    from soliloquy.recipes.mathwell.criteria.classifiers import save
    from soliloquy.recipes.mathwell.criteria.learning import TooFewLabels, learn_classifiers

    try:
        classifiers, tested = learn_classifiers(list(word_problems(source)), seed)
        save(classifiers, out)
    except (UnreadableSource, TooFewLabels) as unusable:
        raise Failure(f"{source}: {unusable}; nothing is written") from unusable
    except OSError as error:
        raise Failure(f"{out} cannot be written ({error.strerror}): choose another --out") from error
    if as_json:
        click.echo(json.dumps({criterion.value: asdict(found) for criterion, found in tested.items()}))
        return
    made = table("test", "rows", "yes", "acc.", "bal.", "prec.", "recall", "F1", "AUC", "Brier")
    for criterion, found in tested.items():
        rows, *figures = asdict(found).values()
        made.add_row(criterion.value, str(rows), *(f"{figure:.3f}" for figure in figures))
    Console().print(made)
    click.echo(f"classifiers in {out}")
