"""Reads a person's message: what it answers, asks or says, and what of it can be judged."""

import re
from functools import cache

from soliloquy.recipes.scripted.parsed_prompt import ParsedPrompt
from soliloquy.recipes.scripted.phrasebook import Phrasebook
from soliloquy.recipes.soliloquy.scripted.person.equations import (
    Equation,
    equations_in,
    formula_of,
    is_identity,
    values,
)
from soliloquy.recipes.soliloquy.scripted.person.message import Act, PersonMessage
from soliloquy.recipes.soliloquy.scripted.person.numbers import number_in
from soliloquy.recipes.soliloquy.scripted.person.vocabulary import is_about, names_quantity
from soliloquy.recipes.soliloquy.scripted.phrases import book
from soliloquy.recipes.soliloquy.scripted.steps import answer, answer_form, is_algebra, is_numeric, sentences
from soliloquy.texts.phrases import says
from soliloquy.truth.algebra_answers import gives_algebra
from soliloquy.truth.laws import plain
from soliloquy.truth.quantities import is_same, quantities_in
from soliloquy.v1.conversation_pb2 import STEP_KIND_KNOWNS, Problem, Step

_EXACTLY = 1e-9
_QUESTION = re.compile(
    r"^\W*(?:and |so |but |ok |please )?(?:what|which|how|where|when|who|can|could|is|are|do|does|should)\b.*\?",
    re.IGNORECASE,
)


# The part that a message lacks if it is no answer to a step without a number, by the form of the answer.
_LACKING = {"idea": "words", "formula": "formula", "algebra": "formula", "knowns": "more"}
_REQUESTS = {"solution": Act.SOLUTION, "back": Act.BACK, "concept": Act.CONCEPT, "hint": Act.HINT}
_MANNERS = {"aside": Act.OFF_TOPIC, "thanks": Act.THANKS, "greeting": Act.GREETING}


@cache
def _cues() -> Phrasebook:
    return Phrasebook(book().tables["person"])


def read(reading: ParsedPrompt) -> PersonMessage:
    problem, step = reading.problem, reading.step
    text = plain(_without_question(reading.latest_reply, problem))

    def message(act: Act, *, lacks: str = "", equation: Equation | None = None) -> PersonMessage:
        return PersonMessage(act=act, text=text, step=step, lacks=lacks, equation=equation)

    if (said := _known_sentence(text, step)) is not None:
        return message(Act.RIGHT if said else Act.WRONG)
    if listed := _listed(text, step):
        return message(Act.RIGHT) if listed == len(step.inputs) else message(Act.UNREADABLE, lacks="more")
    request = next((act for cue, act in _REQUESTS.items() if _cues().cue(cue).search(text)), None)
    if (number := number_in(text, problem, step, asks=request is not None)) is not None:
        return number
    if (found := _equation(text, problem, step)) is not None:
        return message(found[0], equation=found[1])
    if request is None:
        request = next((act for cue, act in _MANNERS.items() if _cues().cue(cue).search(text)), None)
    if request is not None:
        return message(request)
    if not text:
        return message(Act.GREETING)
    if _QUESTION.search(text) and is_about(text, problem, in_words=False):
        return message(Act.CONCEPT if names_quantity(text, problem) else Act.HINT)
    lacks = "number" if is_numeric(step) else _LACKING[answer_form(step)]
    if not is_about(text, problem, in_words=lacks == "words"):
        return message(Act.OFF_TOPIC)
    return message(Act.UNREADABLE, lacks=lacks)


def _without_question(text: str, problem: Problem) -> str:
    for sentence in sentences(problem.question):
        text = text.replace(sentence, "")
    return text


def _known_sentence(text: str, step: Step) -> bool | None:
    """Whether a message says the right sentence or line of algebra, or another; None if it cannot be judged."""
    if is_algebra(step):
        return gives_algebra(text, step.formula)
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


def _equation(text: str, problem: Problem, step: Step) -> tuple[Act, Equation] | None:
    """Returns an equation of a message and what it is to the step; None if it holds none that can be judged."""
    formula = formula_of(step, problem)
    found = [equation for equation in equations_in(text, problem) if not is_identity(equation)]
    if formula is not None and not found and is_numeric(step) and says(text, step.formula.partition("=")[2].strip()):
        return Act.PART, formula
    for equation in reversed(found):
        holds = equation.holds(values(problem))
        if formula is not None and equation.symbols == formula.symbols:
            return (Act.PART if holds and is_numeric(step) else Act.EQUATION), equation
        if holds:
            return Act.ELSEWHERE, equation
    return None
