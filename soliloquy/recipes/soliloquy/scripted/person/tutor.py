"""Plays the tutor of a person: calculates for every verdict, and asks where a message cannot be read."""

import json
from random import Random

from soliloquy.recipes.scripted.parsed_prompt import ParsedPrompt
from soliloquy.recipes.scripted.phrasebook import Part
from soliloquy.recipes.scripted.programs import description
from soliloquy.recipes.soliloquy.scripted.hints import concept_wordings, hints, step_facts
from soliloquy.recipes.soliloquy.scripted.person.equations import quantities, symbols_of, test_of
from soliloquy.recipes.soliloquy.scripted.person.message import Act, PersonMessage
from soliloquy.recipes.soliloquy.scripted.person.reading import read
from soliloquy.recipes.soliloquy.scripted.phrases import book
from soliloquy.recipes.soliloquy.scripted.replies import Gist, ReplyReading
from soliloquy.recipes.soliloquy.scripted.steps import is_numeric
from soliloquy.recipes.soliloquy.scripted.tutor import Move, assess, question, solve, stay, written
from soliloquy.recipes.soliloquy.scripted.verdicts import verdict


def decide(reading: ParsedPrompt, rng: Random) -> str:
    needed = _calculation(read(reading), reading, rng)
    if needed is None:
        return json.dumps({"Use Python": "n"})
    return json.dumps({"Use Python": "y", "Description": needed}, ensure_ascii=False)


def reply(reading: ParsedPrompt, rng: Random) -> str:
    return written(_move(reading, read(reading)), reading, rng)


def _calculation(said: PersonMessage, reading: ParsedPrompt, rng: Random) -> str | None:
    if said.value is not None:
        return description(said.step, said.value, rng)
    if said.equation is not None:
        return description(test_of(said.equation, reading.problem), 1.0, rng)
    return description(said.step, None, rng) if said.act is Act.SOLUTION and is_numeric(said.step) else None


def _move(reading: ParsedPrompt, said: PersonMessage) -> Move:
    if reading.has("calculation") and reading.section("calculation") == "failed":
        return stay(reading, "d", 6, "uncalculated", [book().part("tutor", "show_working")])
    there = reading.at(said.step)
    match said.act:
        case Act.NUMBER:
            as_read = ReplyReading(gist=Gist.NUMBER, text=said.text, value=said.value)
            return assess(there, as_read, verdict(there, as_read))
        case Act.KNOWN if verdict(there, ReplyReading(gist=Gist.NUMBER, text=said.text, value=said.value)):
            confirmed = [book().part("tutor", "right", "number", **step_facts(there)), _part("known")]
            return stay(reading, "b", 3, "right", confirmed)
        case Act.EQUATION:
            as_read = ReplyReading(gist=Gist.NUMBER, text=said.text)
            return assess(there, as_read, verdict(there, as_read))
        case Act.RIGHT | Act.WRONG:
            return assess(there, ReplyReading(gist=Gist.RIGHT, text=said.text), said.act is Act.RIGHT)
        case Act.PART:
            return stay(reading, "c", 4, "partial", [book().part("tutor", "partial", "number", **step_facts(reading))])
        case Act.ELSEWHERE:
            return stay(reading, "c", 4, "partial", [_part("true_elsewhere")])
        case Act.HINT:
            return _help(reading)
        case Act.CONCEPT:
            concept = Part(options=concept_wordings(reading, said.text))
            return stay(reading, "f", 11, "concept", [book().optional("tutor", "good_question"), concept])
        case Act.SOLUTION:
            return solve(reading, "f", 9, "solution", "gladly")
        case Act.BACK if reading.step.number > 1:
            before = reading.problem.steps[reading.step.number - 2]
            return Move("f", 10, "back", before.number, "q", [book().part("tutor", "back"), question(before, reading)])
        case Act.BACK:
            return stay(reading, "f", 11, "concept", [book().part("tutor", "at_the_start")])
        case Act.GREETING:
            return stay(reading, "g", 12, "opening", [book().part("tutor", "welcome")])
        case Act.THANKS:
            return stay(reading, "g", 12, "unclear", [_part("thanks")])
        case Act.OFF_TOPIC:
            return stay(reading, "e", 7, "off_topic", [_part("steer")])
        case _:
            return stay(reading, "d", 6, "unclear", [_part(said.lacks or "known", **_facts(there))])


def _help(reading: ParsedPrompt) -> Move:
    lead = book().optional("tutor", "hinting", name=reading.step.result.name)
    return stay(reading, "f", 8, "hint", [lead, Part(options=hints(reading)), _part("way_out")])


def _facts(reading: ParsedPrompt) -> dict[str, str]:
    known = quantities(reading.problem)
    symbols = [
        f"{symbol} for the {known[symbol].name}" for symbol in sorted(symbols_of(reading.step)) if symbol in known
    ]
    named = reading.step.result.name or "answer"
    return {"name": named, "unit": reading.step.result.unit, "symbols": ", ".join(symbols)}


def _part(situation: str, **slots: str) -> Part:
    return book().part("person", "says", situation, **slots)
