"""Plays the student: asks for help, then works at the step the tutor last asked about, in its persona's words."""

import re
from collections.abc import Mapping, Sequence
from itertools import islice
from random import Random

from soliloquy.recipes.codes import STRATEGIES
from soliloquy.recipes.scripted.parsed_prompt import ParsedPrompt
from soliloquy.recipes.scripted.phrasebook import Part, Phrasebook, capitalize, compose, rephrase
from soliloquy.recipes.soliloquy.scripted.phrases import book, voice_of
from soliloquy.recipes.soliloquy.scripted.steps import (
    answer,
    answer_form,
    is_numeric,
    list_values,
    same,
    sentences,
    split_working,
    stated_answer,
    stated_digits,
    step_asked,
    working,
)
from soliloquy.runtime.model import ModelRefused
from soliloquy.truth.number_format import format_rounded, with_unit
from soliloquy.truth.phrases import says
from soliloquy.v1.conversation_pb2 import STEP_KIND_KNOWNS, Problem, Quantity, Slip, Step

_TASK = re.compile(r"(?:find|explain|compare|calculate|describe|determine|estimate|give|work out)\b", re.IGNORECASE)


def reply(reading: ParsedPrompt, rng: Random) -> str:
    intent = reading.attributes("intent")
    kind = intent.get("kind", "")
    if kind not in ("opening", "right", "wrong"):
        raise ModelRefused(f"the <intent> of {reading.prompt} has kind {kind!r}; it must be opening, right or wrong")
    voice = voice_of(reading.persona)
    if kind == "opening":
        question = " ".join(reading.problem.question.split())
        request = voice.part("opening", question=question, asked=_task(question))
        text = compose([voice.optional("greeting"), request, voice.optional("plea")], rng, reading.word_limit)
    else:
        step, before = _current_step(reading)
        if kind == "wrong":
            parts = _wrong(reading.problem, step, intent.get("strategy", ""), before, voice, rng)
        else:
            parts = _behave(step, _behaviour(step, len(before), voice, rng), before, voice, rng)
        text = rephrase(parts, rng, reading.word_limit, reading.messages(student=True))
    return text if voice.tables.get("lower_case") else capitalize(text)


def _task(question: str) -> str:
    """Returns the sentence that states the task; empty if none can be identified."""
    said = sentences(question)
    wanted = [one for one in said if one.endswith("?")] or [one for one in said if _TASK.match(one)]
    return wanted[-1] if wanted else ""


def _current_step(reading: ParsedPrompt) -> tuple[Step, list[str]]:
    """Returns the current step and the student's messages about it."""
    said: list[str] = []
    current = None
    for line in reading.conversation:
        if line.student:
            said.append(line.text)
            continue
        asked = step_asked(reading.problem, line.text)
        if asked is not None and (current is None or asked.number != current.number):
            said, current = [], asked
    return current or reading.problem.steps[0], said


def _behaviour(step: Step, answered: int, voice: Phrasebook, rng: Random) -> str:
    """Draws a behaviour: mostly an answer; the rates of the others depend on how many messages the step has had."""
    rates: Mapping[str, Sequence[float]] = book().tables["student"]["rates"]
    chance, drawn = 0.0, rng.random()
    for behaviour, by_reply in rates.items():
        if not _is_possible(behaviour, step):
            continue
        chance += by_reply[min(answered, len(by_reply) - 1)] * voice.tables["inclined"].get(behaviour, 1.0)
        if drawn < chance:
            return behaviour
    return "answer"


def _is_possible(behaviour: str, step: Step) -> bool:
    if behaviour == "back":
        return step.number > 1
    if behaviour == "partial":
        return bool(step.formula) if is_numeric(step) else step.kind == STEP_KIND_KNOWNS and len(step.inputs) > 1
    return True


def _behave(step: Step, behaviour: str, before: Sequence[str], voice: Phrasebook, rng: Random) -> list[Part]:
    if behaviour == "answer":
        return _answering(_right(step, voice, rng), step, before, voice)
    if behaviour == "partial" and not is_numeric(step):
        some = list_values(step.inputs[: (len(step.inputs) + 1) // 2])
        return [voice.part("partial", "knowns", some=some)]
    if behaviour == "partial":
        return [voice.part("partial", "formula", formula=step.formula)]
    known = [*step.inputs, step.result] if step.HasField("result") else list(step.inputs)
    return [voice.part(behaviour, name=known[-1].name if known else "")]


def _answering(answer: Part, step: Step, before: Sequence[str], voice: Phrasebook) -> list[Part]:
    return [_lead(step, before, voice), answer, voice.optional("tail")]


def _lead(step: Step, before: Sequence[str], voice: Phrasebook) -> Part:
    """Returns a transition from the student's last message to the answer."""
    if not before:
        return voice.optional("lead")
    if _answers(before[-1], step):
        return voice.optional("after", "wrong")
    asides = ("hint", "concept", "back", "off_topic", "unclear")
    aside = next((aside for aside in asides if book().cue(aside).search(before[-1])), "")
    return voice.optional("after", aside) if aside else voice.optional("lead")


def _answers(text: str, step: Step) -> bool:
    if is_numeric(step):
        return stated_answer(text, step) is not None
    return any(says(text, statement) for statement in (answer(step), *(slip.working for slip in step.slips)))


def _right(step: Step, voice: Phrasebook, rng: Random) -> Part:
    if not is_numeric(step):
        return _statement(answer(step), step, voice)
    texts = [
        with_unit(format_rounded(step.result.value, digits), step.result.unit) for digits in stated_digits(step.result)
    ]
    return _number(step.result.value, texts, step.formula, working(step), step, voice, rng)


def _statement(statement: str, step: Step, voice: Phrasebook) -> Part:
    form = answer_form(step)
    return voice.part(form, answer=statement, idea=_mid_sentence(statement) if form == "idea" else "")


def _mid_sentence(statement: str) -> str:
    """Returns the statement as it continues "I think"; empty if its first word may be a name."""
    first = statement.split(maxsplit=1)[0]
    common = first.lower() in book().tables["student"]["common_words"]
    return statement[:1].lower() + statement[1:] if common else ""


def _number(
    value: float, texts: Sequence[str], formula: str, numbers: str, step: Step, voice: Phrasebook, rng: Random
) -> Part:
    """Returns a few wordings that are read as this value; in some, another number would be taken for the answer."""
    options = [
        voice.wordings("number", formula=formula, working=numbers, value=text, name=step.result.name) for text in texts
    ]
    places = [(at, position) for at, wordings in enumerate(options) for position in range(len(wordings))]
    drawn = (options[at][position] for at, position in rng.sample(places, len(places)))
    return Part(options=list(islice((text for text in drawn if _gives(value, text, step)), 4)) or texts)


def _gives(value: float, wording: str, step: Step) -> bool:
    read = stated_answer(wording, step)
    return read is not None and abs(read - value) <= 0.005 * abs(value)


def _wrong(
    problem: Problem, step: Step, strategy: str, before: Sequence[str], voice: Phrasebook, rng: Random
) -> list[Part]:
    slip = _slip(problem, step, strategy, rng)
    if is_numeric(step):
        # Wrong answers use the wordings of right ones, so only the numbers tell them apart.
        formula, numbers = split_working(slip)
        texts = [with_unit(format_rounded(slip.value, digits), slip.unit) for digits in (3, 4)]
        return _answering(_number(slip.value, texts, formula, numbers, step, voice, rng), step, before, voice)
    if slip.working:
        return _answering(_statement(slip.working.rstrip("."), step, voice), step, before, voice)
    return _answering(voice.part("guess"), step, before, voice)


def _slip(problem: Problem, step: Step, strategy: str, rng: Random) -> Slip:
    # A later step's result would be right, only early.
    later = [other.result.value for other in problem.steps[step.number :] if is_numeric(other)]
    slips = [slip for slip in step.slips if not (is_numeric(step) and any(same(slip.value, value) for value in later))]
    fitting = [slip for slip in slips if STRATEGIES.get(slip.strategy) == strategy] or slips
    return rng.choice(fitting) if fitting else _improvise_slip(step, rng)


def _improvise_slip(step: Step, rng: Random) -> Slip:
    """Makes up a mistake for a step that lists none."""
    factor = rng.choice(book().tables["student"]["slip_factors"])
    if is_numeric(step):
        return Slip(working=working(step), value=step.result.value * factor or factor, unit=step.result.unit)
    if step.kind != STEP_KIND_KNOWNS or not step.inputs:
        return Slip()
    at = rng.randrange(len(step.inputs))
    known = step.inputs[at]
    misread = Quantity(symbol=known.symbol, value=known.value * factor or factor, unit=known.unit)
    return Slip(working=list_values([*step.inputs[:at], misread, *step.inputs[at + 1 :]]))
