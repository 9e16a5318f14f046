"""Says what a scripted message claims, and reads what another message claims by patterns."""

import json
import math
from collections.abc import Iterable
from random import Random

from soliloquy.recipes.scene import Scene
from soliloquy.truth.judge import judge_text
from soliloquy.truth.ledger import ledger_of
from soliloquy.truth.number_format import format_number
from soliloquy.truth.numbers import EXACT
from soliloquy.truth.quantities import calculations_in, quantities_in
from soliloquy.v1.conversation_pb2 import Quantity

# Readers take two numbers for the same if they differ by less than this.
_SAME = 0.01


def claims_in(text: str, results: Iterable[Quantity]) -> list[dict[str, str]]:
    """Returns those of these results that a message says, as its speaker claims them."""
    claims = []
    for result in results:
        known = [*calculations_in(text), *quantities_in(text)]
        written = [one for one in known if same(one.value, result.value)]
        if written:
            said = text[written[-1].start : written[-1].end].strip()
            value = said if written[-1].digits != EXACT else format_number(result.value)
            claims.append({"Quantity": result.symbol, "Value": value, "Unit": ""})
    return claims


def read(scene: Scene, rng: Random) -> str:
    """Reads the settled values that a student's message comes to, also where their unit is another.

    Leaves open all else, and what a tutor tells.
    """
    ledger = ledger_of(scene.problem)
    by_student, message = scene.slot("speaker") == "student", scene.slot("message")
    claims = []
    for one in ledger.results if by_student else ():
        own, right = one.quantity, judge_text(message, one, ledger)
        if right:
            claims.append({"Quantity": own.symbol, "Value": format_number(own.value), "Unit": own.unit})
        elif right is False:
            alike = [said for said in quantities_in(message) if said.unit is not None and same(said.value, own.value)]
            texts = [message[said.start : said.end].strip() for said in alike]
            claims += [{"Quantity": own.symbol, "Value": text, "Unit": ""} for text in texts]
    return json.dumps({"Claims": claims or None}, ensure_ascii=False)


def same(one: float, other: float) -> bool:
    return math.isclose(one, other, rel_tol=_SAME)
