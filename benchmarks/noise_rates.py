"""`python -m benchmarks noise-rates`."""

import ast
import json
import math
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import click
from rich.console import Console

from benchmarks.command import AS_JSON
from benchmarks.published import entries
from soliloquy.cli.tables import table
from soliloquy.dataset.exports.dialogue import conversation_of
from soliloquy.dataset.exports.importing import dialogue_of
from soliloquy.recipes.agreement import agrees, letter_of
from soliloquy.recipes.soliloquy.answers import Reply
from soliloquy.recipes.soliloquy.codes import GIVING_ACTIONS
from soliloquy.recipes.soliloquy.labels_pb2 import TutorLabels
from soliloquy.recipes.soliloquy.rules import POLICY
from soliloquy.recipes.speech import cleaned
from soliloquy.runtime.code import unfenced
from soliloquy.runtime.files import table_beside
from soliloquy.texts.phrases import is_much_like
from soliloquy.truth.quantities import quantities_in
from soliloquy.v1.conversation_pb2 import Conversation, Turn

_BEGINS = table_beside(__file__, "noise_rates.toml")
_SAYS = {
    letter: re.compile(rf"\W*(?:{'|'.join(_BEGINS[kind])})", re.IGNORECASE)
    for letter, kind in (("b", "right"), ("a", "wrong"))
}
_REPLYING = ("initial_state", "no_python_state", "received_python_state")
_CODES = ("Evaluation of Student Response", "Action Based on Evaluation", "Step State")
# A result that is near this one is the same.
_NEAR = 0.005
# A number of a single digit may be any other.
_TELLING = re.compile(r"\d\W?\d")
# Names a fault that a message has, and the state that the message is of.
Fault = tuple[str, str]


@click.command()
@click.argument("folder", type=click.Path(exists=True, file_okay=False, path_type=Path))
@AS_JSON
def noise_rates(*, folder: Path, as_json: bool) -> None:
    """Count how often a published model erred: the rates of `--noise real`.

    FOLDER holds published conversations of Code Soliloquies, in which a model played student and tutor.
    """
    of, found = Counter[str](), Counter[Fault]()
    words = {"student": Counter[int](), "reply": Counter[int]()}
    for _, row in entries(folder):
        if not isinstance(row, dict) or not isinstance(row.get("conversations"), list):
            continue
        conversation = conversation_of(dialogue_of(row, "soliloquies"), "", 0)
        of.update(_states(row["conversations"], conversation))
        found.update(_written(row["conversations"]))
        found.update(_meant(conversation))
        for turn in conversation.turns:
            words["student"][len(turn.student.text.split())] += 1
            words["reply"][len(turn.tutor.text.split())] += 1
    if not of:
        raise click.UsageError(f"{folder} has no conversations: use a folder of Code Soliloquies")
    figures = {
        state: {fault: cases for (its, fault), cases in sorted(found.items()) if its == state} | {"of": of[state]}
        for state in sorted({state for state, _ in found})
    }
    medians = {speaker: sorted(counts.elements())[counts.total() // 2] for speaker, counts in words.items()}
    if as_json:
        click.echo(json.dumps({"faults": figures, "median_words": medians}))
        return
    made = table("", "fault", "cases", "of", "rate")
    for state, counts in figures.items():
        for fault, cases in counts.items():
            if fault != "of":
                made.add_row(state, fault, f"{cases:,}", f"{counts['of']:,}", f"{cases / counts['of']:.3f}")
    Console().print(made)
    click.echo(f"Median words of a message: {medians['student']} of a student, {medians['reply']} of a reply.")


def _states(said: Sequence[Any], conversation: Conversation) -> Iterator[str]:
    """Yields the states whose answers there are, and those of which some faults only can be."""
    for message in said:
        match message["from"]:
            case "student":
                yield "student"
            case "deciding_state":
                yield "decision"
            case "use_python_state":
                yield "program"
            case name if name in _REPLYING:
                yield "reply"
    for turn in conversation.turns:
        if letter_of(turn) in "abc" and letter_of(turn):
            yield "answer"
        if agrees(turn, POLICY["agreeing"]) is not None:
            yield "verdict"


def _written(said: Sequence[Any]) -> Iterator[Fault]:
    """Yields the faults in the form of answers."""
    for message in said:
        speaker, value = message["from"], message["value"]
        if speaker == "use_python_state":
            yield from (("program", fault) for fault in _program_faults(value.get("Python") or {}))
        elif speaker in _REPLYING and isinstance(value, dict):
            yield from (("reply", fault) for fault in _reply_faults(value))
        elif speaker in _REPLYING:
            yield "reply", "field: fields missing"
        elif speaker == "deciding_state" and value.get("Use Python") == "y" and not value.get("Description"):
            yield "decision", "field: fields missing"


def _program_faults(fields: Mapping[str, Any]) -> Iterator[str]:
    if not fields.get("Result Variable") or not fields.get("Python Code"):
        yield "field: fields missing"
        return
    try:
        ast.parse(unfenced(str(fields["Python Code"])))
    except SyntaxError:
        yield "does not compile"


def _reply_faults(fields: Mapping[str, Any]) -> Iterator[str]:
    if "Action Based on the Evaluation" in fields:
        yield "code: other key"
    written = [str(fields.get(name, "")) for name in _CODES]
    if any(re.match(r"\w+\W*$", code) and not code.isalnum() for code in written):
        yield "code: bare"
    elif any(" " in code.strip() and len(code.split()) <= 3 for code in written):
        yield "code: labelled"
    elif any(len(code.split()) > 3 for code in written):
        yield "code: sentence"
    missing = {field.alias for field in Reply.model_fields.values() if field.is_required()} - fields.keys()
    if missing - {"Action Based on Evaluation"} or not all(map(str, fields.values())):
        yield "field: fields missing"
    number = str(fields.get("Step Number", ""))
    for fault, form in (("worded", r"[A-Za-z]+ \d+$"), ("several", r"\d+\W+(?:and |& )?\d"), ("lettered", r"\d+[a-z]")):
        if re.match(form, number):
            yield f"step: {fault}"
    if not re.search(r"\d", number):
        yield "step: none"


def _meant(conversation: Conversation) -> Iterator[Fault]:
    """Yields the faults in what the messages say."""
    turns, step = conversation.turns, 0
    for number, turn in enumerate(turns):
        yield from _of_judgement(turn)
        for speaker, text, before, longest in (
            ("student", turn.student.text, [one.student.text for one in turns[:number]], "longest_student_words"),
            ("reply", turn.tutor.text, [one.tutor.text for one in turns[:number]], "longest_tutor_words"),
        ):
            if len(text.split()) > POLICY[longest]:
                yield speaker, "too long"
            if len(text.split()) >= POLICY["same_words_from"] and any(
                is_much_like(text, other, POLICY["same_words"]) for other in before
            ):
                yield speaker, "repeated"
            if text.count("?") > 1:
                yield speaker, "two questions"
            if cleaned(text, "student" if speaker == "student" else "tutor").cut:
                yield speaker, "speaker's name"
        at = TutorLabels.FromString(turn.tutor.labels).step
        if step and at and (at > step + 1 or at < step):
            yield "reply", "step: skipped" if at > step else "step: backwards"
        step = at or step
        if _gives_result(number, turns):
            yield "reply", "answer given early"


def _of_judgement(turn: Turn) -> Iterator[Fault]:
    letter = letter_of(turn)
    if letter in ("a", "c"):
        yield "answer", "wrong"
    if agrees(turn, POLICY["agreeing"]) is False:
        yield "verdict", "contradicted"
    if (opposite := {"a": "b", "b": "a"}.get(letter)) and _SAYS[opposite].match(turn.tutor.text):
        yield "answer", "reply says the opposite"
    if letter in ("a", "b") and not turn.HasField("calculation"):
        said = [one for one in quantities_in(turn.student.text) if one.stated]
        if any(_TELLING.search(turn.student.text[one.start : one.end]) for one in said):
            yield "decision", "result not calculated"


def _gives_result(number: int, turns: Sequence[Turn]) -> bool:
    """Whether a reply that only hints has a result of the turn's program or a later one, before the student has it."""
    turn = turns[number]
    if TutorLabels.FromString(turn.tutor.labels).action in GIVING_ACTIONS:
        return False
    known = " ; ".join(one.student.text for one in turns[: number + 1])
    return any(
        _holds(turn.tutor.text, result) and not _holds(known, result)
        for later in turns[number:]
        for result in _results(later)
    )


def _results(turn: Turn) -> Iterator[float]:
    for attempt in turn.calculation.attempts:
        for named in attempt.execution.values:
            kind = named.value.WhichOneof("kind")
            value = float(getattr(named.value, kind)) if kind in ("real", "integer") else 0.0
            if len(f"{value:g}".strip("-0.")) > 1:
                yield value


def _holds(text: str, result: float) -> bool:
    return any(math.isclose(one.value, result, rel_tol=_NEAR) for one in quantities_in(text))
