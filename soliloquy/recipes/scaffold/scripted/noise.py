"""Imitates tutors who tell an expected answer, and spoilt messages, at the rates of noise.toml."""

from random import Random

from soliloquy.recipes.scaffold.answers import Tutored, tutored_text
from soliloquy.recipes.scaffold.scripted.tutor import tutor_messages
from soliloquy.recipes.scripted.faults import Rates
from soliloquy.recipes.scripted.parsed_prompt import ParsedPrompt
from soliloquy.recipes.scripted.spoilt_messages import given_away, spoil_student, spoilt
from soliloquy.runtime.beside import table_beside

RATES = table_beside(__file__, "noise.toml")
_LEADING_ON = ("start", "incorrect", "confusion", "question", "irrelevant")


def spoil_tutored(answer: str, reading: ParsedPrompt, rates: Rates, rng: Random) -> str:
    tutored, _ = Tutored.read(answer)
    reply = tutored.text
    if rates.fault("giveaway", rng) and tutored.state in _LEADING_ON:
        reply = given_away(reply, reading.section("expected").rstrip("."), rates, rng)
    reply = spoilt(reply, "reply", tutor_messages(reading), rates, rng)
    return tutored_text(tutored.analysis, tutored.state, reply, tutored.claims)


NOISE = {"scaffold/student": spoil_student, "scaffold/tutoring": spoil_tutored}
