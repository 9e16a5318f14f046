"""The checks that a finished conversation must pass to be kept. A fault names the rule, the turn and the evidence."""

import math
import re
import tomllib
from collections.abc import Iterator
from pathlib import Path

from soliloquy.v1.conversation_pb2 import Conversation, Ending, Turn
from soliloquy.v1.sandbox_pb2 import Status

from services.recipes.numbers import numbers_in
from services.recipes.soliloquy.codes import EVALUATION_LETTERS, GIVING_ACTIONS, GOING_BACK
from services.recipes.soliloquy.progress import progress_by_turn
from services.runtime.values import verdict

RULES = tomllib.loads(Path(__file__).with_name("filters.toml").read_text("utf-8"))

_SPEAKER = re.compile(r"^\s*(student|tutor|tutorbot)\s*:", re.IGNORECASE | re.MULTILINE)


def faults(conversation: Conversation) -> list[str]:
    """Why the conversation is not kept; nothing where it is."""
    if conversation.ending != Ending.ENDING_SOLVED:
        return [f"not solved: {conversation.ending_reason or Ending.Name(conversation.ending)}"]
    return [fault for rule in (_length, _speakers, _verdicts, _steps, _early_answers) for fault in rule(conversation)]


def _length(conversation: Conversation) -> Iterator[str]:
    if len(conversation.turns) < RULES["shortest_turns"]:
        yield f"length: {len(conversation.turns)} turns; at least {RULES['shortest_turns']} are wanted"
    for turn in conversation.turns:
        for speaker, text in (("student", turn.student.text), ("tutor", turn.tutor.text)):
            words = len(text.split())
            if words > RULES[f"longest_{speaker}_words"]:
                yield f"length: turn {turn.number}: the {speaker} uses {words} words"


def _speakers(conversation: Conversation) -> Iterator[str]:
    for turn in conversation.turns:
        for text in (turn.student.text, turn.tutor.text):
            if prefix := _SPEAKER.search(text):
                yield f"speaker: turn {turn.number}: a message holds {prefix[0].strip()!r}"


def _verdicts(conversation: Conversation) -> Iterator[str]:
    for turn in conversation.turns:
        agreement = agrees(turn)
        if agreement is False:
            yield f"verdict: turn {turn.number}: evaluated {_letter(turn)!r} against the code's verdict"
        if judged_blindly(turn):
            yield f"verdict: turn {turn.number}: evaluated {_letter(turn)!r} although no program ran"


def agrees(turn: Turn) -> bool | None:
    """Whether the tutor's evaluation agrees with what its code found; None where the code found no verdict."""
    if not turn.calculation.attempts:
        return None
    found = verdict(turn.calculation.attempts[-1].execution)
    return None if found is None else _letter(turn) in RULES["agreeing"]["right" if found else "wrong"]


def judged_blindly(turn: Turn) -> bool:
    attempts = turn.calculation.attempts
    return bool(attempts) and attempts[-1].execution.status != Status.STATUS_OK and _letter(turn) in "abc"


def _steps(conversation: Conversation) -> Iterator[str]:
    """Steps run forward one by one, but for a student who asks to go back; the end comes at the last one."""
    for turn, progress in zip(conversation.turns, progress_by_turn(conversation), strict=False):
        allowed = {progress.step, progress.step - 1} if turn.tutor.action == GOING_BACK else {progress.step}
        if turn.tutor.step not in allowed:
            yield f"steps: turn {turn.number}: step {turn.tutor.step} while step {progress.step} was at hand"
    last = conversation.turns[-1]
    if last.tutor.step != len(conversation.problem.steps):
        yield f"steps: finished at step {last.tutor.step} of {len(conversation.problem.steps)}"


def _early_answers(conversation: Conversation) -> Iterator[str]:
    """No reply gives a step's value before the student has stated it or may be told it."""
    derived = {step.result.symbol for step in conversation.problem.steps}
    public = numbers_in(conversation.problem.question)
    public += [
        given.value for step in conversation.problem.steps for given in step.inputs if given.symbol not in derived
    ]
    for turn, progress in zip(conversation.turns, progress_by_turn(conversation), strict=False):
        public += numbers_in(turn.student.text)
        hidden_from = progress.step + 1 if turn.tutor.action in GIVING_ACTIONS else progress.step
        told = numbers_in(turn.tutor.text)
        for step in conversation.problem.steps:
            if step.number < hidden_from or not step.HasField("result") or _holds(public, step.result.value):
                continue
            if _holds(told, step.result.value):
                yield f"early answer: turn {turn.number}: gives {step.result.value:g} of step {step.number}"
        public += told


def _holds(numbers: list[float], value: float) -> bool:
    return any(math.isclose(number, value, rel_tol=RULES["same_number"]) for number in numbers)


def _letter(turn: Turn) -> str:
    return EVALUATION_LETTERS.get(turn.tutor.evaluation, "")
