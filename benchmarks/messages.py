"""`python -m benchmarks messages`."""

from fractions import Fraction
from pathlib import Path

import click

from benchmarks.command import AS_JSON
from benchmarks.labelled import LISTED, Readings, cases, report, total
from soliloquy.truth.stated_answer import answer_in

MESSAGES = Path(__file__).parents[1] / "tests" / "unit" / "truth" / "messages"
# A message with two answers has no single one to read.
_OUTCOMES = ("right", "wrong", "read in error", "not read", "two answers")
_ROUNDING = 1e-9


@click.command()
@click.argument("folder", type=click.Path(exists=True, file_okay=False, path_type=Path), default=MESSAGES)
@LISTED
@AS_JSON
def messages(*, folder: Path, listed: bool, as_json: bool) -> None:
    """Read which number of a labelled message of a student is its answer, and count what is read otherwise.

    FOLDER has a JSONL file for each manner. The 400 messages of this repository were written and labelled before a
    reader was run on them. `read in error` states no answer.
    """
    manners = {path.stem: _read(path) for path in sorted(folder.glob("*.jsonl"))}
    report({**manners, "all": total(manners.values())}, _OUTCOMES, listed=listed, as_json=as_json)


def _read(path: Path) -> Readings:
    readings = Readings()
    for row in cases(path):
        read = answer_in(row["message"], "")
        outcome = _outcome(row["answers"], read)
        told = f"{path.stem}: {outcome}: {read} for {row['answers']}: {row['message']}"
        readings.add([outcome], "" if outcome in ("right", "two answers") else told)
    return readings


def _outcome(labels: list[str], read: float | None) -> str:
    if len(labels) > 1:
        return "two answers"
    if not labels or read is None:
        return "right" if not labels and read is None else "not read" if labels else "read in error"
    return "right" if _is(labels[0], read) else "wrong"


def _is(label: str, read: float) -> bool:
    """Whether the value of a label such as "7/3", "0.4 A" or the time "17:42" was read."""
    hours, _, minutes = label.split()[0].rstrip("°").partition(":")
    value = float(Fraction(hours)) + (int(minutes) / 60 if minutes else 0)
    return abs(value - read) <= _ROUNDING * abs(value)
