"""Imitates tutors who tell the answer, and messages that are too long or repeated, at the rates of noise.toml."""

import json
from random import Random

from soliloquy.recipes.scene import Scene
from soliloquy.standin.faults import Fields, Rates
from soliloquy.standin.spoilt_messages import given_away, spoil_reply
from soliloquy.truth.number_format import format_quantity


def spoil_message(answer: str, scene: Scene, rates: Rates, rng: Random) -> str:
    fields: Fields = json.loads(answer)
    text: str = fields["Message"]
    if rates.fault("giveaway", rng) and scene.slot("intent") != "reveal_answer":
        text = given_away(text, format_quantity(scene.problem.answer), rates, rng)
    fields["Message"] = spoil_reply(text, scene, rates, rng)
    return json.dumps(fields, ensure_ascii=False)
