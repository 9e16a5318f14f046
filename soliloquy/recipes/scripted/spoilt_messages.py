"""Spoils messages as models do: too long, repeated, with a second question, or with what the student is to find."""

import json
from collections.abc import Sequence
from random import Random

from soliloquy.recipes.scripted.faults import Fields, Rates
from soliloquy.recipes.scripted.parsed_prompt import ParsedPrompt

# The rules of every recipe allow a reply fewer words.
_TOO_LONG = 160
# A message that only ignores the limit of its prompt is so many times as long, and within the rules.
_LONGER, _LONG = 3, 90


def spoil_student(answer: str, reading: ParsedPrompt, rates: Rates, rng: Random) -> str:
    fields: Fields = json.loads(answer)
    said = spoilt(fields["Message"], "student", reading.messages(student=True), rates, rng)
    fields["Message"] = f"Student: {said}" if rates.fault("prefix", rng) else said
    return json.dumps(fields, ensure_ascii=False)


def spoil_reply(answer: str, reading: ParsedPrompt, rates: Rates, rng: Random) -> str:
    return spoilt(answer, "reply", reading.messages(student=False), rates, rng)


def spoilt(text: str, table: str, before: Sequence[str], rates: Rates, rng: Random) -> str:
    """Returns a message with at most one fault of the table; `before` has those of the same speaker."""
    words = rates.words["messages"][table]
    match rates.fault(table, rng):
        case "too_long":
            return _padded(text, _TOO_LONG, words["padding"], rng)
        case "over_limit":
            return _padded(text, min(_LONGER * len(text.split()), _LONG), words["padding"], rng)
        case "repeated":
            return rng.choice(before) if before else text
        case "two_questions":
            return f"{text} {' '.join(rng.sample(words['questions'], 1 + ('?' not in text)))}"
        case _:
            return text


def given_away(text: str, result: str, rates: Rates, rng: Random) -> str:
    """Returns a reply that tells the result, before what it goes on to ask."""
    return f"{rng.choice(rates.words['giving']).format(result=result)} {text}"


def _padded(text: str, words: int, padding: Sequence[str], rng: Random) -> str:
    """Puts sentences before a message until it has so many words; they repeat when all were used."""
    front: list[str] = []
    while len(" ".join([*front, text]).split()) < words:
        front += rng.sample(padding, 1) if len(front) >= len(padding) else [_other(padding, front, rng)]
    return " ".join([*front, text])


def _other(padding: Sequence[str], used: Sequence[str], rng: Random) -> str:
    return rng.choice([sentence for sentence in padding if sentence not in used])
