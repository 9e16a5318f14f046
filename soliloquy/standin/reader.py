"""Reads what a message claims by patterns: the settled values that it comes to, and nothing else."""

import json
from random import Random

from soliloquy.recipes.scene import Scene
from soliloquy.truth.judge import judge_text
from soliloquy.truth.ledger import ledger_of
from soliloquy.truth.number_format import format_number


def read(scene: Scene, rng: Random) -> str:
    """Leaves open what a message claims that comes to none of the problem's values, and what a tutor tells."""
    ledger = ledger_of(scene.problem)
    by_student, message = scene.slot("speaker") == "student", scene.slot("message")
    results = [one for one in ledger.results if by_student and judge_text(message, one, ledger)]
    claims = [
        {"Quantity": one.quantity.symbol, "Value": format_number(one.quantity.value), "Unit": one.quantity.unit}
        for one in results
    ]
    return json.dumps({"Claims": claims or None}, ensure_ascii=False)
