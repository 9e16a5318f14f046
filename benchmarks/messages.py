"""`python -m benchmarks messages`."""

import hashlib
import json
from collections.abc import Iterator, Sequence
from contextlib import suppress
from fractions import Fraction
from pathlib import Path

import click

from benchmarks.command import AS_JSON
from benchmarks.labelled import LISTED, Readings, cases, report, total
from soliloquy.problems.files.problem_from_row import BadField, problem_from_row
from soliloquy.problems.files.problem_row import ProblemRow
from soliloquy.truth.judge import judge_text
from soliloquy.truth.ledger import Ledger, ledger_of
from soliloquy.truth.locales import gloss, languages
from soliloquy.truth.quantities import quantities_in
from soliloquy.v1.conversation_pb2 import (
    LEDGER_ROLE_ANSWER,
    LEDGER_ROLE_GIVEN,
    LEDGER_ROLE_RESULT,
    LedgerEntry,
    LedgerRole,
    Quantity,
)
from soliloquy.v1.conversation_pb2 import Ledger as LedgerRecord

MESSAGES = Path(__file__).parents[1] / "tests" / "unit" / "truth" / "messages"
# Labels of messages that others published, known by their digests alone.
_PUBLISHED = Path(__file__).with_name("labels") / "published_messages.jsonl"
JUDGED = MESSAGES.with_name("judged")
# A message without an answer is to be left open.
_OUTCOMES = ("answers", "decided", "wrongly", "no answer", "decided without one")
# A value that no message comes to, relative to the one that it does, and one for messages that come to none.
_OTHER, _NOWHERE = 1.37, 4321.7


@click.command()
@click.argument("folder", type=click.Path(exists=True, file_okay=False, path_type=Path), required=False)
@click.option("--language", type=click.Choice(languages()), help="The language of the messages, if not English.")
@click.option(
    "--published",
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    help="MathDial's published dialogues as JSONL: those of their messages that are labelled are judged, too.",
)
@LISTED
@AS_JSON
def messages(*, folder: Path | None, language: str | None, published: Path | None, listed: bool, as_json: bool) -> None:
    """Judge labelled messages of students, and count what is decided and what is decided wrongly.

    FOLDER has a JSONL file for each manner. Each message is judged by the value that it gives and by another one, with
    nothing else known; those of `judged` by the ledgers of their problems, and once more by the answers alone.
    """
    folder = folder or (MESSAGES.with_name(f"{MESSAGES.name}-{language}") if language else MESSAGES)
    kinds = {path.stem: by_label(path, language or "") for path in sorted(folder.glob("*.jsonl"))}
    kinds["all"] = total(kinds.values())
    if language:
        report(kinds, _OUTCOMES, listed=listed, as_json=as_json)
        return
    for name, known in (("with its ledger", True), ("by its answer alone", False)):
        kinds[name] = total(by_ledger(sorted(JUDGED.glob("*.jsonl")), known=known))
    if published is not None:
        kinds["published dialogues"] = _of_dialogues(published)
    report(kinds, _OUTCOMES, listed=listed, as_json=as_json)


def by_ledger(paths: list[Path], *, known: bool) -> Iterator[Readings]:
    """Judges messages by the ledgers of their problems, or by their answers alone."""
    problems = json.loads((JUDGED / "problems.json").read_text("utf-8"))
    for path in paths:
        readings = Readings()
        for row in cases(path):
            problem = problems[row["problem"]]
            value, unit = problem["answer"]
            answer = _entry("answer", value, unit, LEDGER_ROLE_ANSWER)
            entries = [*_known(problem), answer] if known else [answer]
            _judge(readings, row["message"], row["right"], answer, entries, problem["question"] if known else "")
        yield readings


def _of_dialogues(path: Path) -> Readings:
    """Judges the labelled messages of published dialogues by the ledgers that are read from their solutions."""
    labels = {row["digest"]: row["right"] for row in cases(_PUBLISHED)}
    readings = Readings()
    for row in cases(path):
        *lines, value = row["ground_truth"].replace("\\n", "\n").split("\n")
        written = {
            "question": row["question"],
            "solution": "\n".join(lines),
            "answer": {"value": float(value.strip(" $").replace(",", ""))},
        }
        said = (turn.partition(":")[2].strip() for turn in row["conversation"].split("|EOM|"))
        labelled = {text: labels.pop(found) for text in said if (found := _digest(text)) in labels}
        # No run plays a problem whose solution contradicts itself.
        with suppress(BadField):
            ledger = ledger_of(problem_from_row(ProblemRow.model_validate(written), "")) if labelled else None
            for text, right in labelled.items():
                if ledger is not None and ledger.answer is not None:
                    _judge(readings, text, right, ledger.answer, ledger.entries, row["question"])
    return readings


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def _known(problem: dict[str, object]) -> Iterator[LedgerEntry]:
    question = str(problem["question"])
    for place, one in enumerate(quantities_in(question)):
        yield _entry(f"given{place}", one.value, one.unit.measure if one.unit else one.word, LEDGER_ROLE_GIVEN)
    results = problem["results"]
    assert isinstance(results, list)
    for place, (value, unit) in enumerate(results):
        yield _entry(f"result{place}", value, unit, LEDGER_ROLE_RESULT)


def by_label(path: Path, language: str = "") -> Readings:
    """Judges messages by their own values and by others."""
    readings = Readings()
    for row in cases(path):
        row["message"] = gloss(row["message"], language)
        if len(row["answers"]) > 1:
            # A message with two answers has no single one to judge.
            continue
        if not row["answers"]:
            nowhere = _entry("answer", _NOWHERE, "", LEDGER_ROLE_ANSWER)
            _judge(readings, row["message"], None, nowhere, [nowhere])
            continue
        label = gloss(row["answers"][0].replace("°", " °"), language)
        for value, right in ((_value(label), True), (_value(label) * _OTHER + 1, False)):
            answer = _entry("answer", value, label.partition(" ")[2], LEDGER_ROLE_ANSWER)
            _judge(readings, row["message"], right, answer, [answer])
    return readings


def _judge(
    readings: Readings,
    text: str,
    right: bool | None,
    answer: LedgerEntry,
    entries: Sequence[LedgerEntry],
    question: str = "",
) -> None:
    ruling = judge_text(text, answer, Ledger(LedgerRecord(entries=entries)), question)
    if right is None:
        outcomes = ["no answer", *(["decided without one"] if ruling is not None else [])]
    else:
        outcomes = ["answers", *(["decided"] if ruling is not None else [])]
        outcomes += ["wrongly"] if ruling is not None and ruling is not right else []
    readings.add(outcomes, "" if ruling is right else f"{ruling} for {right}, {answer.quantity.value:g}: {text}")


def _entry(symbol: str, value: float, unit: str, role: LedgerRole) -> LedgerEntry:
    return LedgerEntry(quantity=Quantity(symbol=symbol, value=value, unit=unit), role=role, step=1, tolerance=0.01)


def _value(label: str) -> float:
    """Returns the value of a label such as "7/3", "0.4 A" or the time "17:42"."""
    hours, _, minutes = label.split()[0].rstrip("°").partition(":")
    return float(Fraction(hours)) + (int(minutes) / 60 if minutes else 0)
