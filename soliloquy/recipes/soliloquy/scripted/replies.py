"""Classifies a student's message by its words alone."""

import re
from dataclasses import dataclass
from enum import Enum, auto

from soliloquy.recipes.scripted.parsed_prompt import ParsedPrompt
from soliloquy.recipes.scripted.slips import same
from soliloquy.recipes.soliloquy.scripted.phrases import book
from soliloquy.recipes.soliloquy.scripted.steps import answer, is_algebra, is_numeric, stated_answer
from soliloquy.texts.phrases import says, says_exactly, without
from soliloquy.truth.algebra_answers import gives_algebra
from soliloquy.truth.numbers import numbers_in_digits
from soliloquy.v1.conversation_pb2 import STEP_KIND_KNOWNS, Problem, Slip, Step

_WORD = re.compile(r"[^\W\d_]{4,}")


class Gist(Enum):
    OPENING = auto()
    # A number for a numeric step: the calculation decides whether it is right.
    NUMBER = auto()
    RIGHT = auto()
    WRONG = auto()
    PARTIAL = auto()
    HINT = auto()
    SOLUTION = auto()
    BACK = auto()
    CONCEPT = auto()
    UNCLEAR = auto()
    OFF_TOPIC = auto()


_INQUIRIES = {"hint": Gist.HINT, "solution": Gist.SOLUTION, "back": Gist.BACK, "concept": Gist.CONCEPT}


@dataclass(frozen=True, kw_only=True, slots=True)
class ReplyReading:
    gist: Gist
    text: str
    value: float | None = None

    def slip(self, step: Step) -> Slip | None:
        """Returns the known mistake that this message shows."""
        for slip in step.slips:
            if says(self.text, slip.working) or (self.value is not None and same(self.value, slip.value)):
                return slip
        return None


def read_reply(reading: ParsedPrompt) -> ReplyReading:
    text = reading.latest_reply
    if reading.opening:
        return ReplyReading(gist=Gist.OPENING, text=text)
    step = reading.step
    asked = _inquiry(text, step)
    if not is_numeric(step):
        return ReplyReading(
            gist=_statement(text, step) or asked or _aside(text, reading.problem) or Gist.WRONG, text=text
        )
    # The numbers in words of a reason are no answer.
    is_reason = asked_why(reading) and not numbers_in_digits(text)
    value = None if asked or is_reason else stated_answer(text, step)
    if value is not None:
        return ReplyReading(gist=Gist.NUMBER, text=text, value=value)
    if asked is None and says(text, step.formula):
        asked = Gist.PARTIAL
    return ReplyReading(gist=asked or _aside(text, reading.problem) or Gist.UNCLEAR, text=text)


def asked_why(reading: ParsedPrompt) -> bool:
    """Whether the tutor's latest message asks for the reason of an answer that was right."""
    asked = reading.messages(student=False)
    return bool(asked) and not reading.wrong_before and bool(book().cue("asks_why").search(asked[-1]))


def _inquiry(text: str, step: Step) -> Gist | None:
    """Returns what the student asks for, unless the question only accompanies an answer."""
    if "=" in without(text, step.formula):
        return None
    return next((gist for situation, gist in _INQUIRIES.items() if book().cue(situation).search(text)), None)


def _statement(text: str, step: Step) -> Gist | None:
    """Classifies an answer to a step without a number."""
    if is_algebra(step) and (right := gives_algebra(text, step.formula)) is not None:
        return Gist.RIGHT if right else Gist.WRONG
    if says_exactly(text, step.formula):
        return Gist.RIGHT
    if any(says(text, slip.working) for slip in step.slips):
        return Gist.WRONG
    if step.kind == STEP_KIND_KNOWNS and step.inputs:
        values = [number.value for number in numbers_in_digits(text)]
        found = sum(any(same(value, known.value) for value in values) for known in step.inputs)
        if not found:
            return None
        if any(not any(same(value, known.value) for known in step.inputs) for value in values):
            return Gist.WRONG
        return Gist.RIGHT if found == len(step.inputs) else Gist.PARTIAL
    return Gist.RIGHT if says(text, answer(step)) else None


def _aside(text: str, problem: Problem) -> Gist | None:
    """Classifies a message that is off topic or too vague to judge; no word of the problem itself is off topic."""
    steps = (f"{step.ask} {step.formula} {step.explanation}" for step in problem.steps)
    about = " ".join([problem.question, *steps]).casefold()
    if any(found[0].casefold() not in about for found in book().cue("off_topic").finditer(text)):
        return Gist.OFF_TOPIC
    if book().cue("unclear").search(text) or len(text.split()) < 3:
        return Gist.UNCLEAR
    common = _words(text) & _words(about)
    return None if common or book().cue("study").search(text) else Gist.OFF_TOPIC


def _words(text: str) -> set[str]:
    return set(_WORD.findall(text.casefold()))
