"""Imitates tutors who tell an expected answer, and spoilt messages, at the rates of noise.toml."""

from random import Random

from soliloquy.recipes.scaffold.answers import Tutored, tutored_text
from soliloquy.recipes.scene import Scene
from soliloquy.standin.faults import Rates
from soliloquy.standin.scaffold.questions import question_of
from soliloquy.standin.spoilt_messages import given_away, spoilt

_LEADING_ON = ("start", "incorrect", "confusion", "question", "irrelevant")


def spoil_tutored(answer: str, scene: Scene, rates: Rates, rng: Random) -> str:
    tutored, _ = Tutored.read(answer)
    reply = tutored.text
    if rates.fault("giveaway", rng) and tutored.state in _LEADING_ON:
        reply = given_away(reply, question_of(scene).answer.rstrip("."), rates, rng)
    reply = spoilt(reply, "reply", scene.messages(student=False), rates, rng)
    return tutored_text(tutored.analysis, tutored.state, reply, tutored.claims)
