"""`soliloquy problems learn-criteria`."""

import json
from pathlib import Path

import click

from soliloquy.cli.command import Command
from soliloquy.cli.errors import writing_to
from soliloquy.cli.options import AS_JSON, EXISTING_FILE, NEW_FILE, SEEDS
from soliloquy.cli.tables import table
from soliloquy.cli.terminal import echo, open_console
from soliloquy.recipes.mathwell.commands.labelled import word_problems
from soliloquy.runtime.failure import Failure


@click.command(cls=Command)
@click.option(
    "--labelled",
    "source",
    required=True,
    metavar="FILE",
    type=EXISTING_FILE,
    help="JSONL, CSV or Parquet: word problems, with true or false for solvable, accurate and appropriate.",
)
@click.option("--out", required=True, type=NEW_FILE, help="The file for the classifiers, .npz.")
@click.option("--seed", default=0, show_default=True, type=SEEDS, help="Seed of the split into training and test.")
@AS_JSON
def learn_criteria(*, source: Path, out: Path, seed: int, as_json: bool) -> None:
    """Train classifiers that tell which word problems are solvable, accurate and appropriate.

    Tests them on a fifth of the rows. The labels are weighted by how rare they are, and the probabilities are
    calibrated. Use the result with `problems score --classifiers`.
    """
    from soliloquy.recipes.mathwell.criteria.classifiers import save
    from soliloquy.recipes.mathwell.criteria.learning import learn_classifiers

    try:
        classifiers, tested = learn_classifiers(list(word_problems(source)), seed)
    except Failure as unusable:
        raise Failure(f"{source}: {unusable}; nothing was written") from unusable
    with writing_to(out):
        save(classifiers, out)
    if as_json:
        echo(json.dumps(tested))
        return
    made = table("test", "rows", "yes", "acc.", "bal.", "prec.", "recall", "F1", "AUC", "Brier")
    for criterion, found in tested.items():
        rows, *figures = found.values()
        made.add_row(criterion.value, str(rows), *(f"{figure:.3f}" for figure in figures))
    open_console().print(made)
    echo(f"classifiers in {out}")
