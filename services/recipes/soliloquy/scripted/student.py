"""The student: asks for help, then works at the step the tutor last asked about."""

from collections.abc import Mapping, Sequence
from itertools import islice
from random import Random

from soliloquy.v1.conversation_pb2 import STEP_KIND_KNOWNS, ErrorStrategy, Quantity, Slip, Step

from services.recipes.soliloquy.scripted.phrases import Part, anew, book, compose, optional, part, wordings
from services.recipes.soliloquy.scripted.reading import Reading
from services.recipes.soliloquy.scripted.steps import (
    answer,
    answer_form,
    is_numeric,
    listed,
    stated_answer,
    step_asked,
    working,
)
from services.runtime.model import ModelRefused
from services.truth.figures import rounded, with_unit


def reply(reading: Reading, rng: Random) -> str:
    intent = reading.attributes("intent")
    kind = intent.get("kind", "")
    if kind not in ("opening", "right", "wrong"):
        raise ModelRefused(f"the <intent> of {reading.prompt} has kind {kind!r}; it must be opening, right or wrong")
    if kind == "opening":
        return compose(_opening(reading), rng, reading.word_limit)
    step, answered = _at(reading)
    if kind == "wrong":
        parts = _wrong(step, intent.get("strategy", ""), rng)
    else:
        parts = _behave(step, _behaviour(step, answered, rng), rng)
    return anew(parts, rng, reading.word_limit, reading.said(student=True))


def _opening(reading: Reading) -> list[Part]:
    request = part("student", "opening", question=" ".join(reading.problem.question.split()))
    return [optional("student", "greeting"), request, optional("student", "plea")]


def _at(reading: Reading) -> tuple[Step, int]:
    """The step in question, and how many replies the student has given at it."""
    answered, current = 0, None
    for line in reading.conversation:
        if line.student:
            answered += 1
            continue
        asked = step_asked(reading.problem, line.text)
        if asked is not None and (current is None or asked.number != current.number):
            answered, current = 0, asked
    return current or reading.problem.steps[0], answered


def _behaviour(step: Step, answered: int, rng: Random) -> str:
    """An answer in most cases, and the surer the longer the student has been at the step."""
    rates: Mapping[str, float] = book()["student"]["rates"]
    patience = book()["student"]["patience"]
    chance, drawn = 0.0, rng.random()
    for behaviour, rate in rates.items():
        chance += rate * patience[answered] if answered < len(patience) else 0.0
        if drawn < chance:
            return "answer" if behaviour == "partial" and not _has_parts(step) else behaviour
    return "answer"


def _has_parts(step: Step) -> bool:
    return bool(step.formula) if is_numeric(step) else step.kind == STEP_KIND_KNOWNS and len(step.inputs) > 1


def _behave(step: Step, behaviour: str, rng: Random) -> list[Part]:
    quantities = [*step.inputs, step.result] if step.HasField("result") else list(step.inputs)
    if behaviour == "answer":
        return _right(step, rng)
    if behaviour == "partial" and not is_numeric(step):
        some = listed(step.inputs[: (len(step.inputs) + 1) // 2])
        return [part("student", "partial", "knowns", some=some)]
    if behaviour == "partial":
        return [part("student", "partial", "formula", formula=step.formula)]
    name = quantities[-1].name if quantities else ""
    return [optional("student", "hesitation"), part("student", behaviour, name=name)]


def _right(step: Step, rng: Random) -> list[Part]:
    if is_numeric(step):
        numbers = working(step)
        texts = [with_unit(rounded(step.result.value, digits), step.result.unit) for digits in (3, 4)]
        options = [
            wording
            for text in texts
            for wording in wordings(
                "student", "number", formula=step.formula, working=numbers, value=text, name=step.result.name
            )
        ]
        answering = Part(options=_giving(step.result.value, options, step, rng) or texts)
    else:
        answering = part("student", answer_form(step), answer=answer(step))
    return [optional("student", "lead"), answering, optional("student", "tail")]


def _giving(value: float, options: Sequence[str], step: Step, rng: Random) -> list[str]:
    """A few of the wordings whose answer is this value: some workings would draw the eye to another number."""
    shuffled = rng.sample(options, len(options))
    return list(islice((option for option in shuffled if _gives(value, option, step)), 3))


def _gives(value: float, wording: str, step: Step) -> bool:
    read = stated_answer(wording, step)
    return read is not None and abs(read - value) <= 0.005 * abs(value)


def _wrong(step: Step, strategy: str, rng: Random) -> list[Part]:
    slip = _slip(step, strategy, rng)
    if is_numeric(step):
        value = with_unit(rounded(slip.value, 4), slip.unit)
        complete = "=" in slip.working and _gives(slip.value, slip.working, step)
        options = wordings("student", "slip", "complete" if complete else "number", working=slip.working, value=value)
        answering = Part(options=_giving(slip.value, options, step, rng) or [value])
    elif slip.working and answer_form(step) == "idea":
        answering = part("student", "idea", answer=slip.working.rstrip("."))
    elif slip.working:
        answering = part("student", "slip", "statement", working=slip.working)
    else:
        answering = part("student", "slip", "guess")
    return [optional("student", "lead"), answering, optional("student", "tail")]


def _slip(step: Step, strategy: str, rng: Random) -> Slip:
    slips: Sequence[Slip] = step.slips
    fitting = [slip for slip in slips if _name(slip) == strategy] or slips
    return rng.choice(fitting) if fitting else _improvised(step, rng)


def _name(slip: Slip) -> str:
    return ErrorStrategy.Name(slip.strategy).removeprefix("ERROR_STRATEGY_").lower()


def _improvised(step: Step, rng: Random) -> Slip:
    """A mistake for a step that lists none."""
    factor = rng.choice(book()["student"]["slip"]["factors"])
    if is_numeric(step):
        return Slip(working=working(step), value=step.result.value * factor or factor, unit=step.result.unit)
    if step.kind != STEP_KIND_KNOWNS or not step.inputs:
        return Slip()
    at = rng.randrange(len(step.inputs))
    known = step.inputs[at]
    misread = Quantity(symbol=known.symbol, value=known.value * factor or factor, unit=known.unit)
    return Slip(working=listed([*step.inputs[:at], misread, *step.inputs[at + 1 :]]))
