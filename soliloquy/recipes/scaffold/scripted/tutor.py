"""Plays the tutor: describes calculations, assesses messages and replies."""

import json
import re
from collections.abc import Mapping
from random import Random

from soliloquy.recipes.scaffold.answers import tutored_text
from soliloquy.recipes.scaffold.expected_answers import final_number, gives_expected, revealed
from soliloquy.recipes.scaffold.labels_pb2 import SubQuestion
from soliloquy.recipes.scaffold.scripted.phrases import book
from soliloquy.recipes.scaffold.scripted.steps import step
from soliloquy.recipes.scripted.parsed_prompt import ParsedPrompt
from soliloquy.recipes.scripted.phrasebook import capitalize, rephrase
from soliloquy.recipes.scripted.programs import description
from soliloquy.runtime.model import ModelRefused
from soliloquy.truth.number_format import format_exact
from soliloquy.v1.conversation_pb2 import Quantity, Step

_PLANNED = re.compile(r"^Sub-question \d+: (.*)\nExpected answer: (.*)$", re.MULTILINE)
_SAID = re.compile(r"^Tutor: (.*)$", re.MULTILINE)
_SOLVING = ("correct", "comprehension")


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
    shown = "end" if state in _SOLVING and at == len(plan) - 1 else state
    name = step(reading).result.name or "next step"
    answer = plan[at].answer.rstrip(".")
    analysis = book().one_of(rng, "tutor", "analysis", shown, name=name, answer=answer, final=answer, now=str(at + 1))
    return tutored_text(analysis, shown, _message(reading, plan, at, shown, rng, name=name, answer=answer))


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
    cues = (cue for cue in book().tables["cues"] if _has(cue, message, about=about))
    return next(cues, "incorrect")


def _has(cue: str, message: str, *, about: str) -> bool:
    """Whether a message has a cue; words that occur in the problem itself are not irrelevant."""
    found = book().cue(cue).finditer(message)
    return any(cue != "irrelevant" or one[0].lower() not in about.lower() for one in found)


def _message(reading: ParsedPrompt, plan: list[SubQuestion], at: int, shown: str, rng: Random, **facts: str) -> str:
    hidden = plan[at + (shown in _SOLVING) :]
    ask = hidden[0].question if hidden else ""
    known = "\n".join(
        [reading.section("question"), ask, *(f"{one.question} {one.answer}" for one in plan if one not in hidden)]
    )
    explanation = step(reading).explanation
    slots: Mapping[str, str] = {
        **facts,
        "ask": ask,
        "final": plan[-1].answer.rstrip("."),
        "way": ", then ".join(one.answer.rstrip(".") for one in plan[:-1]),
        "explanation": "" if "?" in explanation or any(revealed(explanation, hidden, known)) else explanation,
    }
    said = [book().part("tutor", "says", shown, **slots)]
    return capitalize(rephrase(said, rng, reading.word_limit, tutor_messages(reading)))


def tutor_messages(reading: ParsedPrompt) -> list[str]:
    return _SAID.findall(reading.section("history"))
