"""The deciding state: whether the next reply rests on a calculation, and which."""

import json
from random import Random

from soliloquy.v1.conversation_pb2 import Quantity, Step

from services.recipes.soliloquy.scripted.phrases import compose, one_of, part
from services.recipes.soliloquy.scripted.reading import Reading
from services.recipes.soliloquy.scripted.replies import Gist, Reply, read_reply
from services.recipes.soliloquy.scripted.steps import is_numeric
from services.truth.figures import exact, with_unit

# Before this many wrong answers the tutor only hints; with the next one it steps in.
PATIENCE = 2


def decide(reading: Reading, rng: Random) -> str:
    reply = read_reply(reading)
    if not is_numeric(reading.step) or not _needs_number(reply, reading):
        return json.dumps({"Use Python": "n"})
    return json.dumps({"Use Python": "y", "Description": _description(reading.step, reply, rng)}, ensure_ascii=False)


def _needs_number(reply: Reply, reading: Reading) -> bool:
    gives_solution = reply.gist is Gist.SOLUTION or (reply.gist is Gist.PARTIAL and reading.wrong_before >= PATIENCE)
    return reply.gist is Gist.NUMBER or gives_solution


def _description(step: Step, reply: Reply, rng: Random) -> str:
    parts = [
        part("hidden", "description", "task", target=_target(step.result)),
        part("hidden", "description", "inputs", inputs="; ".join(map(_given, step.inputs))),
        part(
            "hidden",
            "description",
            "relation",
            formula=step.formula or f"{step.result.symbol} = {step.expression}",
            expression=f"{step.result.symbol} = {step.expression}",
        ),
    ]
    if reply.value is None:
        return compose(parts, rng)
    student = f"`student_{step.result.symbol}` = {exact(reply.value)}"
    return f"{compose(parts, rng)} {one_of(rng, 'hidden', 'description', 'student', student=student)}"


def _target(quantity: Quantity) -> str:
    return f"`{quantity.symbol}` ({_plain(quantity.name)})" + (f", in {quantity.unit}" if quantity.unit else "")


def _given(quantity: Quantity) -> str:
    return f"`{quantity.symbol}` ({_plain(quantity.name)}) = {with_unit(exact(quantity.value), quantity.unit)}"


def _plain(name: str) -> str:
    """A name free of the marks that set it off."""
    return name.replace("(", "").replace(")", "").replace("`", "'")
