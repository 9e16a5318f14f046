"""Reads what a message claims by patterns: the settled values that it comes to, and nothing else."""

import json
from random import Random

from soliloquy.recipes.scripted.parsed_prompt import ParsedPrompt
from soliloquy.runtime.model import ModelRefused
from soliloquy.truth.judge import judge_text
from soliloquy.truth.ledger import ledger_of
from soliloquy.truth.number_format import format_number


def read(reading: ParsedPrompt, rng: Random) -> str:
    """Leaves open what a message claims that comes to none of the problem's values, and what a tutor tells."""
    try:
        ledger = ledger_of(reading.problem)
    except ModelRefused:
        return json.dumps({"Claims": None})
    by_student = reading.attributes("message").get("by") == "student"
    message = reading.section("message")
    results = [one for one in ledger.results if by_student and judge_text(message, one, ledger)]
    claims = [
        {"Quantity": one.quantity.symbol, "Value": format_number(one.quantity.value), "Unit": one.quantity.unit}
        for one in results
    ]
    return json.dumps({"Claims": claims or None}, ensure_ascii=False)
