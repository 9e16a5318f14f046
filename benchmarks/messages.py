"""`python -m benchmarks messages`."""

from fractions import Fraction
from pathlib import Path

import click

from benchmarks.command import AS_JSON
from benchmarks.labelled import LISTED, Readings, cases, report, total
from soliloquy.truth.judge import judge_text
from soliloquy.truth.ledger import Ledger
from soliloquy.truth.stated_answer import answer_in
from soliloquy.v1.conversation_pb2 import Ledger as LedgerRecord
from soliloquy.v1.conversation_pb2 import LedgerEntry, Quantity

MESSAGES = Path(__file__).parents[1] / "tests" / "unit" / "truth" / "messages"
# A message with two answers has no single one to read.
_OUTCOMES = ("right", "wrong", "read in error", "not read", "two answers", "judged", "decided", "decided wrongly")
# A value that no message comes to, relative to the one that it does.
_OTHER = 1.37
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
        judged, errors = _judged(row["message"], row["answers"])
        is_fine = outcome in ("right", "two answers") and not errors
        readings.add([outcome, *judged], "" if is_fine else f"{told} {errors}")
    return readings


def _judged(message: str, labels: list[str]) -> tuple[list[str], str]:
    """Judges a message by the answer that it gives, and by another one; a message without any decides nothing."""
    if len(labels) > 1:
        return [], ""
    label = labels[0].replace("°", " °") if labels else ""
    value, unit = (_value(label), label.partition(" ")[2]) if labels else (4321.7, "")
    outcomes, errors = list[str](), ""
    for wanted, is_right in ((value, True), (value * _OTHER + 1, False)) if labels else ((value, None),):
        entry = LedgerEntry(quantity=Quantity(value=wanted, unit=unit), step=1, tolerance=0.01)
        ruling = judge_text(message, entry, Ledger(LedgerRecord(entries=[entry])))
        outcomes += ["judged", *(["decided"] if ruling is not None else [])]
        if ruling not in (is_right, None):
            outcomes.append("decided wrongly")
            errors += f" judged {ruling} for {wanted:g} {unit}"
    return outcomes, errors


def _outcome(labels: list[str], read: float | None) -> str:
    if len(labels) > 1:
        return "two answers"
    if not labels or read is None:
        return "right" if not labels and read is None else "not read" if labels else "read in error"
    return "right" if _is(labels[0], read) else "wrong"


def _is(label: str, read: float) -> bool:
    value = _value(label)
    return abs(value - read) <= _ROUNDING * abs(value)


def _value(label: str) -> float:
    """Returns the value of a label such as "7/3", "0.4 A" or the time "17:42"."""
    hours, _, minutes = label.split()[0].rstrip("°").partition(":")
    return float(Fraction(hours)) + (int(minutes) / 60 if minutes else 0)
