"""Reads a person's message: what it answers, asks or says, and what of it can be judged."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum, auto
from functools import cache

from soliloquy.recipes.scripted.parsed_prompt import ParsedPrompt
from soliloquy.recipes.scripted.phrasebook import Phrasebook
from soliloquy.recipes.soliloquy.scripted.person.equations import (
    Equation,
    equations_in,
    formula_of,
    quantities,
    values,
)
from soliloquy.recipes.soliloquy.scripted.person.plain_text import plain
from soliloquy.recipes.soliloquy.scripted.phrases import book
from soliloquy.recipes.soliloquy.scripted.steps import answer, answer_form, is_numeric, sentences
from soliloquy.recipes.soliloquy.truth import Facts
from soliloquy.truth import utterances
from soliloquy.truth.phrases import says
from soliloquy.truth.quantities import WrittenQuantity, calculations_in, is_same, quantities_in
from soliloquy.truth.units import unit
from soliloquy.v1.conversation_pb2 import STEP_KIND_KNOWNS, Problem, Step

_WORD = re.compile(r"[^\W\d_]{3,}")
_SYMBOL = re.compile(r"[^\W\d]\w*")
# Words that share so many first letters are forms of one: travel, travels, travelled.
_STEM = 5
_EXACTLY = 1e-9
# A message of fewer words may be about anything.
_FEW = 2


class Act(Enum):
    # A number for a step: the calculation decides whether it is right.
    NUMBER = auto()
    # The result of an earlier step, once more.
    KNOWN = auto()
    # An equation that the step asks for, or that says how to go about it: a calculation decides too.
    EQUATION = auto()
    PART = auto()
    # An equation that holds, and that nobody asked for.
    ELSEWHERE = auto()
    # A sentence that the bank has as right or wrong.
    RIGHT = auto()
    WRONG = auto()
    HINT = auto()
    CONCEPT = auto()
    SOLUTION = auto()
    BACK = auto()
    GREETING = auto()
    THANKS = auto()
    OFF_TOPIC = auto()
    UNREADABLE = auto()


@dataclass(frozen=True, kw_only=True, slots=True)
class Message:
    act: Act
    text: str
    # The step that it is about, which may lie ahead.
    step: Step
    # The number in the unit of the step.
    value: float | None = None
    equation: Equation | None = None
    # For an unreadable message: the wording in phrases/person.toml that asks for what is missing.
    lacks: str = ""


@cache
def cues() -> Phrasebook:
    return Phrasebook(book().tables["person"])


def read(reading: ParsedPrompt) -> Message:
    problem, step = reading.problem, reading.step
    text = plain(_without_question(reading.latest_reply, problem))

    def message(act: Act, at: Step = step, *, lacks: str = "", equation: Equation | None = None) -> Message:
        return Message(act=act, text=text, step=at, lacks=lacks, equation=equation)

    if (said := _known_sentence(text, step)) is not None:
        return message(Act.RIGHT if said else Act.WRONG)
    if listed := _listed(text, step):
        return message(Act.RIGHT) if listed == len(step.inputs) else message(Act.UNREADABLE, lacks="more")
    request = next((act for cue, act in _REQUESTS.items() if cues().cue(cue).search(text)), None)
    if (number := _number(text, problem, step, asks=request is not None)) is not None:
        return number
    if (found := _equation(text, problem, step)) is not None:
        return message(*found[:1], equation=found[1])
    if request is None:
        request = next((act for cue, act in _MANNERS.items() if cues().cue(cue).search(text)), None)
    if request is not None:
        return message(request)
    if not text:
        return message(Act.GREETING)
    lacks = "number" if is_numeric(step) else _LACKING[answer_form(step)]
    if not _is_about(text, problem, in_words=lacks == "words"):
        return message(Act.OFF_TOPIC)
    return message(Act.UNREADABLE, lacks=lacks)


# What a message lacks that is no answer to a step without a number, by the form of the answer.
_LACKING = {"idea": "words", "formula": "formula", "knowns": "more"}
_REQUESTS = {"solution": Act.SOLUTION, "back": Act.BACK, "concept": Act.CONCEPT, "hint": Act.HINT}
_MANNERS = {"aside": Act.OFF_TOPIC, "thanks": Act.THANKS, "greeting": Act.GREETING}


def _without_question(text: str, problem: Problem) -> str:
    for sentence in sentences(problem.question):
        text = text.replace(sentence, "")
    return text


def _known_sentence(text: str, step: Step) -> bool | None:
    """Whether a message says the right sentence or a usual mistake; None for any other."""
    if is_numeric(step) or answer_form(step) != "idea":
        return None
    if says(text, answer(step)):
        return True
    return False if any(says(text, slip.working) for slip in step.slips) else None


def _listed(text: str, step: Step) -> int:
    """Counts the given values that a message lists where the step asks for them."""
    if step.kind != STEP_KIND_KNOWNS:
        return 0
    written = quantities_in(text)
    return sum(any(is_same(one, known.value, known.unit, _EXACTLY) for one in written) for known in step.inputs)


def _number(text: str, problem: Problem, step: Step, *, asks: bool) -> Message | None:
    """Returns the number that a message answers with; None if it holds none that could be an answer."""
    numeric = [other for other in problem.steps if is_numeric(other)]
    if not numeric:
        return None
    facts = Facts(problem)
    found = [one for one in quantities_in(text) if not one.term or one.stated]
    bare = _is_answer(text, problem, found)
    ahead = [other for other in numeric if other.number >= step.number]
    last = _last(found, numeric, facts, bare=bare) or next(calculations_in(text), None)
    if last is None:
        return None
    reached = _reached(last, ahead, facts)
    if reached is not None and (bare or last.digits > 1 or last.unit or last.stated or _belongs(last.word, problem)):
        return _reaching(text, last, reached, step, facts)
    if (known := _reached(last, numeric, facts)) is not None:
        if bare:
            return Message(act=Act.KNOWN, text=text, step=known, value=_value(last, known))
        return None if asks else Message(act=Act.UNREADABLE, text=text, step=step, lacks="known")
    if asks or not bare or not is_numeric(step) or last not in found:
        return None
    if last.unit is not None and last.unit.kind != unit(step.result.unit).kind:
        return None
    return Message(act=Act.NUMBER, text=text, step=step, value=_value(last, step))


def _last(
    found: Sequence[WrittenQuantity], numeric: Sequence[Step], facts: Facts, *, bare: bool
) -> WrittenQuantity | None:
    """Returns the number that a message comes to, past the values and counts that it only mentions."""
    for one in reversed(found):
        mentioned = facts.is_given(one) or (one.digits == 1 and one.unit is None and not one.stated)
        if _reached(one, numeric, facts) is not None or not mentioned or bare:
            return one
    return None


def _reaching(text: str, one: WrittenQuantity, reached: Step, step: Step, facts: Facts) -> Message:
    value = _value(one, reached)
    if one.unit is None and reached.number != step.number and any(is_same(one, slip.value, "", facts.tolerance) for slip in step.slips):
        return Message(act=Act.UNREADABLE, text=text, step=step, lacks="which_unit")
    if abs(value - reached.result.value) > facts.tolerance * abs(reached.result.value):
        return Message(act=Act.UNREADABLE, text=text, step=reached, lacks="digits")
    return Message(act=Act.NUMBER, text=text, step=reached, value=value)


def _reached(one: WrittenQuantity, steps: Sequence[Step], facts: Facts) -> Step | None:
    return next(
        (step for step in steps if is_same(one, step.result.value, step.result.unit, facts.tolerance)), None
    )


def _value(one: WrittenQuantity, step: Step) -> float:
    """Returns the number in the unit that the step asks for."""
    wanted = unit(step.result.unit)
    if one.unit is None or one.unit.kind != wanted.kind or not wanted.kind:
        return one.value * one.unit.factor if one.unit is not None and one.unit.kind == "dimensionless" else one.value
    return wanted.of(one.value, one.unit)


def _is_answer(text: str, problem: Problem, numbers: Sequence[WrittenQuantity]) -> bool:
    """Whether a message says nothing but a number and words that belong to the problem or to any answer."""
    if not numbers:
        return False
    rest = text
    for one in reversed(numbers):
        rest = f"{rest[: one.start]} {rest[one.end :]}"
    words = [word.casefold() for word in _WORD.findall(rest)]
    return not [word for word in words if word not in _fillers() and not _belongs(word, problem)]


def _equation(text: str, problem: Problem, step: Step) -> tuple[Act, Equation] | None:
    """Returns an equation of a message and what it is to the step; None if it holds none that can be judged."""
    formula = formula_of(step, problem)
    found = equations_in(text, problem)
    if formula is not None and not found and is_numeric(step) and says(text, step.formula.partition("=")[2].strip()):
        return Act.PART, formula
    for equation in reversed(found):
        holds = equation.holds(values(problem))
        if formula is not None and equation.symbols == formula.symbols:
            return (Act.PART if holds and is_numeric(step) else Act.EQUATION), equation
        if holds:
            return Act.ELSEWHERE, equation
    return None


def _is_about(text: str, problem: Problem, *, in_words: bool) -> bool:
    """Whether a message may be about the problem: half of its words are, or too few tell otherwise."""
    words = [word.casefold() for word in _WORD.findall(text)]
    content = [word for word in words if word not in _fillers()]
    symbols = set(_SYMBOL.findall(text)) & set(quantities(problem))
    if len(content) < _FEW or "=" in text or symbols:
        return True
    belonging = sum(_belongs(word, problem) for word in content)
    # Nobody knows in what words an idea will be told.
    return belonging > 0 if in_words else 2 * belonging >= len(content)


@cache
def _fillers() -> frozenset[str]:
    return frozenset(book().tables["person"]["words"]["filler"]) | utterances._FUNCTION_WORDS


def _belongs(word: str, problem: Problem) -> bool:
    return any(word == other or (len(word) >= _STEM and word[:_STEM] == other[:_STEM]) for other in _vocabulary(problem.question, problem.SerializeToString(deterministic=True)))


@cache
def _vocabulary(question: str, stored: bytes) -> frozenset[str]:
    problem = Problem.FromString(stored)
    texts = [question]
    for step in problem.steps:
        texts += [step.ask, step.explanation, step.result.name, step.result.unit, *(known.name for known in step.inputs)]
    return frozenset(word.casefold() for word in _WORD.findall(" ".join(texts))) - _fillers()
