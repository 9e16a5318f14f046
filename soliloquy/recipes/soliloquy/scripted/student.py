"""Plays the student: asks for help, then works at the step the tutor last asked about, in its persona's words."""

import re
from collections.abc import Iterator, Mapping, Sequence
from itertools import islice
from random import Random

from soliloquy.recipes.scripted.parsed_prompt import ParsedPrompt
from soliloquy.recipes.scripted.phrasebook import Part, Phrasebook, capitalize, compose, rephrase
from soliloquy.recipes.scripted.slips import belief, is_of_the_pen, same, split_working
from soliloquy.recipes.scripted.stated import message
from soliloquy.recipes.soliloquy.scripted.phrases import book, voice_of
from soliloquy.recipes.soliloquy.scripted.steps import (
    answer,
    answer_form,
    is_numeric,
    list_values,
    sentences,
    spoken_formula,
    stated_answer,
    stated_digits,
    working,
)
from soliloquy.runtime.model import ModelRefused
from soliloquy.texts.phrases import says
from soliloquy.truth.number_format import format_rounded, with_unit
from soliloquy.truth.units import measured
from soliloquy.v1.conversation_pb2 import STEP_KIND_KNOWNS, Quantity, Slip, Step

# Behaviour that has nothing to do with what the student knows.
_ASIDES = ("off_topic", "back")
_TASK = re.compile(r"(?:find|explain|compare|calculate|describe|determine|estimate|give|work out)\b", re.IGNORECASE)


def reply(reading: ParsedPrompt, rng: Random) -> str:
    intent = reading.attributes("intent")
    kind = intent.get("kind", "")
    if kind not in ("opening", "right", "wrong", "reason"):
        raise ModelRefused(f"the <intent> of {reading.prompt} has kind {kind!r}; it must be opening, right or wrong")
    voice = voice_of(reading.persona)
    step: Step | None = None
    if kind == "opening":
        question = " ".join(reading.problem.question.split())
        request = voice.part("opening", question=question, asked=_task(question))
        text = compose([voice.optional("greeting"), request, voice.optional("plea")], rng, reading.word_limit)
    else:
        step, before = _current_step(reading, intent)
        if kind == "wrong":
            parts = _wrong(reading, step, before, voice, rng)
        elif kind == "reason":
            parts = [_reason(step, voice)]
        else:
            knowledge = intent.get("knowledge", "known")
            parts = _behave(step, _behaviour(step, len(before), knowledge, voice, rng), before, voice, rng)
        text = rephrase(parts, rng, reading.word_limit, reading.messages(student=True))
    text = text if voice.tables.get("lower_case") else capitalize(text)
    return message(text, _result(text, step, kind) if kind in ("right", "wrong") else ())


def _result(text: str, step: Step | None, kind: str) -> Iterator[Quantity]:
    """Yields the result that a message gives for the step: the right one where it is to be right."""
    if step is None or not is_numeric(step):
        return
    if kind == "right":
        yield step.result
    elif (value := stated_answer(text, step)) is not None:
        yield Quantity(symbol=step.result.symbol, value=value)


def _task(question: str) -> str:
    """Returns the sentence that states the task; empty if none can be identified."""
    said = sentences(question)
    wanted = [one for one in said if one.endswith("?")] or [one for one in said if _TASK.match(one)]
    return wanted[-1] if wanted else ""


def _current_step(reading: ParsedPrompt, intent: Mapping[str, str]) -> tuple[Step, list[str]]:
    """Returns the current step and the student's messages about it."""
    number, tries = (int(intent.get(name) or default) for name, default in (("step", 1), ("tries", 0)))
    if not 1 <= number <= len(reading.problem.steps):
        raise ModelRefused(f"the <intent> of {reading.prompt} is at step {number}, which the problem does not have")
    said = reading.messages(student=True)
    return reading.problem.steps[number - 1], said[len(said) - tries :]


def _behaviour(step: Step, answered: int, knowledge: str, voice: Phrasebook, rng: Random) -> str:
    """Draws a behaviour: mostly an answer; the rates of the others depend on how many messages the step has had."""
    student = book().tables["student"]
    rates: Mapping[str, Sequence[float]] = student["rates"]
    factor = student["hesitating"].get(knowledge, 1.0)
    chance, drawn = 0.0, rng.random()
    for behaviour, by_reply in rates.items():
        if not _is_possible(behaviour, step):
            continue
        rate = by_reply[min(answered, len(by_reply) - 1)] * voice.tables["inclined"].get(behaviour, 1.0)
        chance += rate * (1.0 if behaviour in _ASIDES else factor)
        if drawn < chance:
            return behaviour
    return "answer"


def _is_possible(behaviour: str, step: Step) -> bool:
    if behaviour == "back":
        return step.number > 1
    if behaviour == "partial":
        if is_numeric(step):
            return bool(spoken_formula(step.formula))
        return step.kind == STEP_KIND_KNOWNS and len(step.inputs) > 1
    return True


def _behave(step: Step, behaviour: str, before: Sequence[str], voice: Phrasebook, rng: Random) -> list[Part]:
    if behaviour == "answer":
        parts = _answering(_right(step, voice, rng), step, before, voice)
        if is_numeric(step) and rng.random() < book().tables["student"]["tells_idea"]:
            parts.insert(-1, voice.optional("told_idea", reason=_idea(step)[1]))
        return parts
    if behaviour == "partial" and not is_numeric(step):
        some = list_values(step.inputs[: (len(step.inputs) + 1) // 2])
        return [voice.part("partial", "knowns", some=some)]
    if behaviour == "partial":
        return [voice.part("partial", "formula", formula=step.formula)]
    known = [*step.inputs, step.result] if step.HasField("result") else list(step.inputs)
    return [voice.part(behaviour, name=known[-1].name if known else "")]


def _answering(answer: Part, step: Step, before: Sequence[str], voice: Phrasebook) -> list[Part]:
    return [_lead(step, before, voice), answer, voice.optional("tail", unit=measured(step.result.unit))]


def _lead(step: Step, before: Sequence[str], voice: Phrasebook) -> Part:
    """Returns a transition from the student's last message to the answer."""
    if not before:
        return voice.optional("lead")
    if _answers(before[-1], step):
        lapse = next((slip for slip in step.slips if is_of_the_pen(slip) and _shows(before[-1], slip, step)), None)
        if lapse:
            return Part(options=(_spoken(lapse.because, voice),), optional=True)
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
    return _number(step.result.value, texts, spoken_formula(step.formula), working(step), step, voice, rng)


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


def _wrong(reading: ParsedPrompt, step: Step, before: Sequence[str], voice: Phrasebook, rng: Random) -> list[Part]:
    """Gives the wrong answer of the misconception that the prompt names, and its reason now and then."""
    slip = _slip(reading, step, rng)
    is_asked = bool(before) and bool(book().cue("asks_how").search(reading.messages(student=False)[-1]))
    lead = _wrong_lead(step, before, voice, held=bool(before) and _shows(before[-1], slip, step), is_asked=is_asked)
    formula, numbers = split_working(slip)
    # Asked how, a student without a working to show says why.
    because = _spoken(slip.because if is_asked and not numbers else belief(slip), voice)
    reason = Part(options=list(voice.wordings("belief", because=because)))
    if not is_asked and rng.random() >= book().tables["student"]["gives_reason"]:
        reason = Part(options=())
    if not is_numeric(step):
        statement = _statement(slip.working.rstrip("."), step, voice) if slip.working else voice.part("guess")
        return [lead, statement, reason]
    # Wrong answers use the wordings of right ones, so only the numbers tell them apart.
    texts = [with_unit(format_rounded(slip.value, digits), slip.unit) for digits in (3, 4)]
    if is_asked and numbers:
        shown = voice.wordings("worked", working=numbers, value=texts[0])
        return [lead, reason, Part(options=[text for text in shown if _gives(slip.value, text, step)] or texts)]
    told = _number(slip.value, texts, spoken_formula(formula), numbers, step, voice, rng)
    return [lead, reason, told, voice.optional("tail", unit=measured(step.result.unit))]


def _wrong_lead(step: Step, before: Sequence[str], voice: Phrasebook, *, held: bool, is_asked: bool) -> Part:
    """Returns a transition to a wrong answer; who has given it before does not see why it should be wrong."""
    if held:
        return voice.optional("explaining" if is_asked else "unconvinced")
    return _lead(step, before, voice)


def _shows(text: str, slip: Slip, step: Step) -> bool:
    if not is_numeric(step):
        return says(text, slip.working)
    value = stated_answer(text, step)
    return value is not None and same(value, slip.value)


def _spoken(because: str, voice: Phrasebook) -> str:
    """Returns a reason as the voice says it."""
    if not voice.tables.get("lower_case"):
        return because
    return because[:1].lower() + because[1:].rstrip(".").replace(" I ", " i ")


def _reason(step: Step, voice: Phrasebook) -> Part:
    """Says why a right answer is right, by the idea of the step, or admits that it only followed a rule."""
    idea, reason = _idea(step)
    return voice.part("reason", reason=reason, idea=idea)


def _idea(step: Step) -> tuple[str, str]:
    """Returns the idea of a step as a sentence, and as one that goes on; empty if it needs numbers."""
    idea = sentences(step.explanation)[0].rstrip(".") if step.explanation else ""
    if any(character.isdigit() or character in "=?" for character in idea):
        return "", ""
    return idea, _mid_sentence(idea) if idea else ""


def _slip(reading: ParsedPrompt, step: Step, rng: Random) -> Slip:
    working = reading.attributes("misconception").get("working", "") if reading.has("misconception") else ""
    known = [slip for slip in step.slips if not working or slip.working == working]
    return rng.choice(known) if known else _improvise_slip(step, rng)


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
