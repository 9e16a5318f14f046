"""`python -m benchmarks messages`."""

import json
from collections import Counter
from fractions import Fraction
from pathlib import Path

import click
from rich.console import Console

from benchmarks.command import AS_JSON
from soliloquy.cli.tables import table
from soliloquy.truth.answers import answer_in

MESSAGES = Path(__file__).parents[1] / "tests" / "unit" / "truth" / "messages"
# A message with two answers has no single one to read.
_OUTCOMES = ("right", "wrong", "read in error", "not read", "two answers")
_ROUNDING = 1e-9


@click.command()
@click.argument("folder", type=click.Path(exists=True, file_okay=False, path_type=Path), default=MESSAGES)
@click.option("--list", "listed", is_flag=True, help="List what is read in another way than its label.")
@AS_JSON
def messages(*, folder: Path, listed: bool, as_json: bool) -> None:
    """Read which number of a labelled message of a student is its answer, and count what is read otherwise.

    FOLDER has a JSONL file for each manner. The 400 messages of this repository were written and labelled before a
    reader was run on them. `read in error` states no answer.
    """
    manners: dict[str, Counter[str]] = {}
    otherwise: list[str] = []
    for path in sorted(folder.glob("*.jsonl")):
        counts = manners[path.stem] = Counter()
        for line in path.read_text("utf-8").splitlines():
            row = json.loads(line)
            read = answer_in(row["message"], "")
            outcome = _outcome(row["answers"], read)
            counts[outcome] += 1
            if outcome not in ("right", "two answers"):
                otherwise.append(f"{path.stem}: {outcome}: {read} for {row['answers']}: {row['message']}")
    if as_json:
        click.echo(json.dumps(manners))
        return
    made = table("", *_OUTCOMES)
    for name, counts in {**manners, "all": sum(manners.values(), Counter[str]())}.items():
        made.add_row(name, *(str(counts[outcome]) for outcome in _OUTCOMES))
    Console().print(made)
    if listed:
        click.echo("\n".join(otherwise))


def _outcome(labels: list[str], read: float | None) -> str:
    if len(labels) > 1:
        return "two answers"
    if not labels or read is None:
        return "right" if not labels and read is None else "not read" if labels else "read in error"
    return "right" if _is(labels[0], read) else "wrong"


def _is(label: str, read: float) -> bool:
    """Whether the value of a label such as "7/3" or "0.4 A" was read; a time of day is no number."""
    try:
        value = float(Fraction(label.split()[0].rstrip("°")))
    except ValueError:
        return False
    return abs(value - read) <= _ROUNDING * abs(value)
