"""Plays the deciding state: whether the next reply needs a calculation, and which."""

import json
from random import Random

from soliloquy.recipes.scripted.parsed_prompt import ParsedPrompt
from soliloquy.recipes.scripted.programs import description
from soliloquy.recipes.soliloquy.scripted.replies import Gist, ReplyReading, read_reply
from soliloquy.recipes.soliloquy.scripted.steps import is_numeric

# After this many wrong answers the tutor solves the step at the next one.
PATIENCE = 2


def decide(reading: ParsedPrompt, rng: Random) -> str:
    reply = read_reply(reading)
    if not is_numeric(reading.step) or not _needs_number(reply, reading):
        return json.dumps({"Use Python": "n"})
    return json.dumps(
        {"Use Python": "y", "Description": description(reading.step, reply.value, rng)}, ensure_ascii=False
    )


def _needs_number(reply: ReplyReading, reading: ParsedPrompt) -> bool:
    gives_solution = reply.gist is Gist.SOLUTION or (reply.gist is Gist.PARTIAL and reading.wrong_before >= PATIENCE)
    return reply.gist is Gist.NUMBER or gives_solution
