"""Plays the student: shows the requested state, and sometimes another until the message is sent back."""

from random import Random

from soliloquy.recipes.scaffold.expected_answers import expects_formula, expects_number
from soliloquy.recipes.scaffold.policy import POLICY
from soliloquy.recipes.scaffold.scripted.phrases import book
from soliloquy.recipes.scaffold.scripted.steps import mistakes, step, target, working
from soliloquy.recipes.scripted.parsed_prompt import ParsedPrompt
from soliloquy.recipes.scripted.phrasebook import Part, capitalize, rephrase
from soliloquy.runtime.model import ModelRefused
from soliloquy.truth.number_format import format_value


def reply(reading: ParsedPrompt, rng: Random) -> str:
    kinds = list(POLICY["states"]["shares"])
    kind = reading.attributes("state").get("kind", "")
    if kind not in kinds:
        raise ModelRefused(f"the <state> of {reading.prompt} has kind {kind!r}; it must be one of {', '.join(kinds)}")
    if not reading.has("rejected") and rng.random() < book().tables["student"]["rates"]["unlike"]:
        kind = rng.choice([other for other in kinds if other != kind])
    said = _answer(reading, rng, right=kind == "correct") if kind in ("correct", "incorrect") else _part(reading, kind)
    return capitalize(
        rephrase(
            [book().optional("student", "says", "lead"), said], rng, reading.word_limit, reading.messages(student=True)
        )
    )


def _answer(reading: ParsedPrompt, rng: Random, *, right: bool) -> Part:
    wanted, at = target(reading), step(reading)
    formula = expects_formula(wanted.answer)
    if right:
        answer = wanted.answer.rstrip(".")
        written_out = (
            working(at) if expects_number(wanted) and format_value(at.result.value, at.result.unit) == answer else ""
        )
        return book().part("student", "says", "formula" if formula else "correct", answer=answer, working=written_out)
    ways = list(mistakes(at, wanted))
    if not ways:
        return book().part("student", "says", "mistaken")
    wrong, slip = rng.choice(ways)
    return book().part("student", "says", "wrongly" if formula else "incorrect", wrong=wrong, slip=slip)


def _part(reading: ParsedPrompt, kind: str) -> Part:
    return book().part("student", "says", kind, name=step(reading).result.name or "next step")
