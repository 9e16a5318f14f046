"""Plays the tutor: describes calculations, assesses messages and replies."""

import json
import re
from collections.abc import Iterator, Mapping
from random import Random

from soliloquy.recipes.answers import StatedClaim
from soliloquy.recipes.quantity_names import result_name
from soliloquy.recipes.scaffold.answers import tutored_text
from soliloquy.recipes.scaffold.expected_answers import final_number, gives_expected, revealed
from soliloquy.recipes.scaffold.labels_pb2 import SubQuestion
from soliloquy.recipes.scaffold.reply_rules import count_questions
from soliloquy.recipes.scaffold.scripted.phrases import book, tutor_book
from soliloquy.recipes.scaffold.scripted.steps import step
from soliloquy.recipes.scripted.parsed_prompt import ParsedPrompt
from soliloquy.recipes.scripted.phrasebook import Part, capitalize, rephrase
from soliloquy.recipes.scripted.programs import description
from soliloquy.recipes.scripted.questions import nudges, rewordings
from soliloquy.recipes.scripted.slips import kind_of_mistake, split_working
from soliloquy.recipes.scripted.stated import claims_in, results_of
from soliloquy.runtime.model import ModelRefused
from soliloquy.texts.phrases import says
from soliloquy.truth.number_format import format_exact, format_number, format_quantity, written_value
from soliloquy.v1.conversation_pb2 import Quantity, Slip, Step

_PLANNED = re.compile(r"^Sub-question \d+: (.*)\nExpected answer: (.*)$", re.MULTILINE)
_SAID = re.compile(r"^Tutor: (.*)$", re.MULTILINE)


# A tutor who has asked for the working does not ask again for so many messages.
_ASKED = 4
# A question may ask for these besides the idea of the step; the first whose cue it has counts.
_QUESTIONS = ("numbers", "purpose", "needed", "guess")
# The states that a message without an answer may show; the first whose cue it has counts.
_SHOWN = ("irrelevant", "confusion", "question", "comprehension")


def describe(reading: ParsedPrompt, rng: Random) -> str:
    given = final_number(reading.section("message"))
    if given is None:
        raise ModelRefused(f"the <message> of {reading.prompt} holds no number: {reading.section('message')[:80]!r}")
    return json.dumps({"Description": description(_calculating(reading), given.value, rng)}, ensure_ascii=False)


def _calculating(reading: ParsedPrompt) -> Step:
    """Returns the step at hand; if it calculates nothing, one that states its result, or the problem's answer."""
    at_hand = step(reading)
    if at_hand.expression:
        return at_hand
    value = (at_hand.result if at_hand.HasField("result") else reading.problem.answer).value
    return Step(expression=format_exact(value), result=Quantity(symbol="result", name="expected result", value=value))


def reply(reading: ParsedPrompt, rng: Random) -> str:
    plan = [
        SubQuestion(question=question, answer=answer) for question, answer in _PLANNED.findall(reading.section("plan"))
    ]
    at = int(reading.attributes("sub_question")["number"]) - 1
    state = _state(reading, plan[at])
    shown = "end" if state in solving(reading) and at == len(plan) - 1 else state
    name = step(reading).result.name
    answer = plan[at].answer.rstrip(".")
    analysis = book().one_of(rng, "tutor", "analysis", shown, name=name, answer=answer, final=answer, now=str(at + 1))
    text = _message(reading, plan, at, shown, rng, name=name, answer=answer)
    is_telling = shown in ("end", *solving(reading), "comprehension")
    told = claims_in(text, results_of(reading.problem)) if is_telling else []
    return tutored_text(analysis, shown, text, [StatedClaim.model_validate(one) for one in told])


def solving(reading: ParsedPrompt) -> tuple[str, ...]:
    """Returns the states that solve a sub-question."""
    tested = reading.attributes("progress").get("understanding") == "tested"
    return ("correct",) if tested else ("correct", "comprehension")


def _state(reading: ParsedPrompt, current: SubQuestion) -> str:
    """Decides by the program's verdict, the expected answer, or cue words."""
    if not tutor_messages(reading):
        return "start"
    message = reading.section("message")
    if reading.has("output"):
        return "correct" if "True" in reading.output.values() else "incorrect"
    if gives_expected(message, current):
        return "correct"
    about = f"{reading.section('question')} {reading.section('plan')}"
    cues = (cue for cue in _SHOWN if _has(cue, message, about=about))
    return next(cues, "incorrect")


def _has(cue: str, message: str, *, about: str) -> bool:
    """Whether a message has a cue; words that occur in the problem itself are not irrelevant."""
    found = book().cue(cue).finditer(message)
    return any(cue != "irrelevant" or one[0].lower() not in about.lower() for one in found)


def _message(reading: ParsedPrompt, plan: list[SubQuestion], at: int, shown: str, rng: Random, **facts: str) -> str:
    hidden = plan[at + (shown in solving(reading)) :]
    ask = hidden[0].question if hidden else ""
    known = "\n".join(
        [reading.section("question"), ask, *(f"{one.question} {one.answer}" for one in plan if one not in hidden)]
    )
    told = step(reading)
    explanation = told.explanation
    slots: Mapping[str, str] = {
        **facts,
        **_taken_up(reading, told),
        "found": facts["name"] if plan[at].question == told.ask else "",
        "final": plan[-1].answer.rstrip("."),
        "way": ", then ".join(one.answer.rstrip(".") for one in plan[:-1]),
        "inputs": _inputs(told, known),
        "later": _later(reading, told),
        "explanation": "" if "?" in explanation or any(revealed(explanation, hidden, known)) else explanation,
    }
    if shown == "end":
        parts = [
            tutor_book(reading).part("tutor", "says", "end", **slots),
            tutor_book(reading).part("tutor", "says", "farewell", **slots),
        ]
    elif shown == "incorrect":
        parts = _object(reading, told, rng, hidden[0], slots)
    elif shown in ("start", *solving(reading), "comprehension"):
        kind = "understood" if shown == "comprehension" and shown not in solving(reading) else shown
        parts = [tutor_book(reading).part("tutor", "says", kind, **slots), _question(reading, hidden[0], shown)]
        is_told = any(explanation in text for text in tutor_messages(reading))
        may_ask = shown == "correct" and slots["said"] and explanation and not is_told
        if may_ask and rng.random() < tutor_book(reading).tables["tutor"]["asks_why"]:
            parts.insert(1, tutor_book(reading).part("tutor", "says", "why"))
    else:
        kinds = ("question", _asked_for(reading, slots)) if shown == "question" else (shown,)
        parts = [tutor_book(reading).part("tutor", "says", *kinds, **slots), _question(reading, hidden[0], shown)]
    return capitalize(rephrase(parts, rng, reading.word_limit, tutor_messages(reading), tutor_book(reading).style))


def _asked_for(reading: ParsedPrompt, slots: Mapping[str, str]) -> str:
    """Returns what a student's question asks for, as far as it can be answered."""
    kind = next((cue for cue in _QUESTIONS if book().cue(cue).search(reading.section("message"))), "")
    if kind == "guess" or (kind == "numbers" and slots["inputs"]):
        return kind
    if kind in ("purpose", "needed"):
        return kind if slots["later"] else f"{kind}_last"
    return "idea" if slots["explanation"] else "other"


def _object(reading: ParsedPrompt, told: Step, rng: Random, asked: SubQuestion, slots: Mapping[str, str]) -> list[Part]:
    """Speaks to the working that the student has shown, or asks for it once: no cause is named that was not shown."""
    lead = tutor_book(reading).part("tutor", "says", "doubt", **slots)
    is_asked = any(book().cue("asks_how").search(text) for text in tutor_messages(reading)[-_ASKED:])
    if slots["said"] and not slots["working"] and not is_asked and rng.random() < book().tables["tutor"]["asks_how"]:
        return [lead, tutor_book(reading).part("tutor", "says", "asking_how", **slots)]
    path = ("mistake", slots["mistake"]) if slots["working"] else ("says", "incorrect")
    return [lead, tutor_book(reading).part("tutor", *path, **slots), _question(reading, asked, "incorrect")]


def _taken_up(reading: ParsedPrompt, told: Step) -> dict[str, str]:
    """Returns what a reply may repeat of the student's message, its number and a wrong working, and what is wrong."""
    message = reading.section("message")
    given = final_number(message)
    shown = ((slip, way) for slip in told.slips for way in _written(slip) if says(message, way))
    slip, working = next(shown, (None, ""))
    number = message[given.start : given.end].strip(" .,;!") if given else ""
    said = number if number and number in message else ""
    return {"said": said, "working": working, "mistake": kind_of_mistake(slip, told)}


def _written(slip: Slip) -> Iterator[str]:
    """Yields the calculation of a mistake in numbers and as a formula, as a message may hold them."""
    formula, numbers = split_working(slip)
    yield from (way for way in (numbers, formula) if any(sign in way for sign in "+-×*/"))


def _inputs(told: Step, text: str) -> str:
    """Lists what goes into a step, if all of it is known by now."""
    if not all(known.name and _is_said(text, known) for known in told.inputs):
        return ""
    return " and ".join(f"{format_quantity(known)} for the {known.name}" for known in told.inputs)


def _later(reading: ParsedPrompt, told: Step) -> str:
    """Names what the step prepares: the next result that takes its own, or the next one at all; empty at the end."""
    steps = [one for one in reading.problem.steps[told.number :] if one.result.name not in ("", told.result.name)]
    taking = (one for one in steps if told.result.symbol in [known.symbol for known in one.inputs])
    later = next(taking, None) or next(iter(steps), None)
    return result_name(later, reading.problem) if later else ""


def _is_said(text: str, known: Quantity) -> bool:
    return says(text, format_number(known.value)) or says(text, written_value(known.value, known.unit))


def _question(reading: ParsedPrompt, asked: SubQuestion, shown: str) -> Part:
    """Puts a sub-question in other words, or hands it back; word for word where nobody knows others, else seldom."""
    told = _step_asking(reading, asked.question)
    plain = asked.question == (told.ask if told else "")
    name = result_name(told, reading.problem) if told else ""
    if name and shown in ("incorrect", "confusion", "question"):
        options = [asked.question, *nudges(name, failed=shown == "incorrect")]
    elif name and plain and shown == "correct" and told == step(reading):
        # The way to it has just been found.
        options = [asked.question, *tutor_book(reading).wordings("tutor", "says", "result", name=name)]
    elif name and not plain:
        options = [asked.question, *tutor_book(reading).wordings("tutor", "says", "way", name=name)]
        if shown in ("start", "correct"):
            options += tutor_book(reading).wordings("tutor", "says", "onward", name=name)
    else:
        unit = told.result.unit if told and name == told.result.name else ""
        options = [asked.question, *rewordings(asked.question, name=name, unit=unit)]
    return Part(options=[text for text in options if count_questions(text) == 1] or [asked.question])


def _step_asking(reading: ParsedPrompt, question: str) -> Step | None:
    """Returns the step whose question or quantity a sub-question names."""
    steps = reading.problem.steps
    asking = (one for one in steps if one.ask == question)
    named = (one for one in reversed(steps) if one.result.name and one.result.name in question)
    return next(asking, None) or next(named, None)


def tutor_messages(reading: ParsedPrompt) -> list[str]:
    return _SAID.findall(reading.section("history"))
