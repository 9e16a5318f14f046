"""`python -m benchmarks told-numbers`."""

import json
from collections.abc import Iterator
from copy import deepcopy
from pathlib import Path
from random import Random

import click

from benchmarks.command import AS_JSON
from benchmarks.labelled import LISTED, Readings, cases, report
from benchmarks.soliloquies import conversations
from soliloquy.dataset.exports.dialogue import conversation_of
from soliloquy.dataset.exports.importing import dialogue_of
from soliloquy.dataset.reading import Dataset
from soliloquy.recipes.given_values import check_unfounded
from soliloquy.recipes.recipe import find
from soliloquy.truth.arithmetic_policy import COUNTS
from soliloquy.truth.quantities import quantities_in
from soliloquy.v1.conversation_pb2 import Conversation, Turn

LABELS = Path(__file__).parent / "labels" / "told-numbers.jsonl"
_OUTCOMES = ("replies", "flagged", "faults", "unlabelled", "planted", "found")
_DIALOGUES = "test.jsonl"
# A false number is the true one times one of these.
_WRONG = (0.83, 1.37, 2.6, 17)
_SEED = 3


@click.command()
@click.argument("folder", type=click.Path(exists=True, file_okay=False, path_type=Path))
@LISTED
@AS_JSON
def told_numbers(*, folder: Path, listed: bool, as_json: bool) -> None:
    """Look for the source of each number that tutors tell, and of one that is made false in each reply.

    FOLDER holds published conversations of Code Soliloquies, dialogues of MathDial, or a dataset. Whoever read the
    flagged replies, after the first run, labelled those whose number is wrong as faults.
    """
    labels = {(row["file"], row["turn"]): row["label"] for row in cases(LABELS)}
    readings, drawn = Readings(), Random(_SEED)
    for name, conversation in _read(folder):
        for turn in (one for one in conversation.turns if one.tutor.text):
            evidence = _unfounded(conversation, turn)
            label = labels.get((name, turn.number), "unlabelled")
            outcomes = ["flagged", *{"fault": ["faults"], "unlabelled": ["unlabelled"]}.get(label, [])]
            told = f"{name} turn {turn.number}: {label}: {evidence}"
            readings.add(["replies", *(outcomes if evidence else [])], told if evidence and label != "fault" else "")
            if not evidence and (false := _with_false_number(conversation, turn, drawn)):
                is_found = bool(_unfounded(false, false.turns[turn.number - 1]))
                said = false.turns[turn.number - 1].tutor.text
                readings.add(["planted", *(["found"] if is_found else [])], "" if is_found else f"not found: {said!r}")
    report({"numbers": readings}, _OUTCOMES, listed=listed, as_json=as_json)


def _read(folder: Path) -> Iterator[tuple[str, Conversation]]:
    if (folder / "manifest.json").is_file():
        yield from ((one.id, one) for one in Dataset(folder).conversations())
    elif (file := folder / _DIALOGUES).is_file():
        for row, line in enumerate(file.read_text("utf-8").splitlines()):
            yield f"{file.name} row {row}", conversation_of(dialogue_of(json.loads(line), "mathdial"), "", row)
    else:
        yield from conversations(folder)


def _unfounded(conversation: Conversation, turn: Turn) -> str:
    person = find(conversation.run.recipe).person
    assert person is not None, f"{conversation.run.recipe} has no tutor"
    return next((evidence for _, evidence in check_unfounded(conversation, [turn], person.prior_work)), "")


def _with_false_number(conversation: Conversation, turn: Turn, drawn: Random) -> Conversation | None:
    told = [one for one in quantities_in(turn.tutor.text) if one.value not in COUNTS and not one.spelled]
    if not told:
        return None
    one = drawn.choice(told)
    text, digits = turn.tutor.text, f"{one.value * drawn.choice(_WRONG):.4g}"
    false = deepcopy(conversation)
    false.turns[turn.number - 1].tutor.text = text[: one.start] + digits + text[one.end :]
    return false
