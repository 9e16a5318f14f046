"""A noisy stand-in errs as often as its tables say, and the same way each time."""

import ast
import asyncio
import json
import math
import tomllib
from collections.abc import Callable
from functools import cache
from pathlib import Path
from random import Random

import pytest

from soliloquy.standin.faults import LEVELS, Rates
from soliloquy.standin.speakers import rates_of
from soliloquy.v1.model_pb2 import GenerateRequest
from soliloquy_services.model.engines import noise
from soliloquy_services.model.engines.noise import noise_of
from soliloquy_services.model.engines.scripted import ScriptedEngine
from tests.unit.scripted.driver import request

CALLS = 600
TABLES = tomllib.loads(Path(noise.__file__).with_name("noise.toml").read_text("utf-8"))
OWN = rates_of("soliloquy")
RATES = {**TABLES, **OWN, "words": {**TABLES["words"], **OWN["words"]}}
_DESCRIBED = "In Python: `F = 1.62; m = 0.45; a = F / m; student_answer = 3.6`"
_ASKED: dict[str, Callable[[int], GenerateRequest]] = {
    "received_python": lambda seed: request(
        "received_python", seed, said="I get 4.6 m/s^2.", output={"a": 3.6, "is_correct": False}
    ),
    "student": lambda seed: request("student", seed, kind="right", knowledge="known", tries="0"),
    "deciding": lambda seed: request("deciding", seed, said="I get 4.6 m/s^2."),
    "use_python": lambda seed: request("use_python", seed, description=_DESCRIBED),
    "again": lambda seed: request("use_python", seed, description=_DESCRIBED, failure="'(' was never closed"),
}


@cache
def answers(state: str, count: int = CALLS) -> list[str]:
    async def ask() -> list[str]:
        engine = ScriptedEngine(noise=noise_of("real"))
        return [(await engine.generate(_ASKED[state](seed))).text for seed in range(count)]

    return asyncio.run(ask())


def strict(text: str) -> bool:
    try:
        json.loads(text)
    except json.JSONDecodeError:
        return False
    return True


def near(share: float, rate: float) -> bool:
    """Within four standard deviations of so many draws."""
    return abs(share - rate) <= 4 * math.sqrt(rate * (1 - rate) / (CALLS * 0.8))


def test_answers_are_malformed_and_verdicts_false_at_the_published_rates() -> None:
    whole = [json.loads(text) for text in answers("received_python") if strict(text)]
    assert near(1 - len(whole) / CALLS, sum(RATES["block"].values()))
    contradicting = sum(one["Evaluation of Student Response"].startswith("b") for one in whole)
    assert near(contradicting / len(whole), RATES["verdict"]["contradicted"])
    told = sum("3.6" in one["Tutorbot Response"] for one in whole)
    assert near(told / len(whole), RATES["giveaway"]["told"])


def test_a_student_who_is_to_be_right_is_wrong_at_its_rate() -> None:
    numbers = [text for text in answers("student") if "m/s^2" in text]
    assert near(sum("3.6" not in text for text in numbers) / CALLS, RATES["kinds"]["right"]["wrong"])


def test_some_results_are_not_calculated() -> None:
    decisions = [json.loads(text) for text in answers("deciding") if strict(text)]
    plain = sum(decision == {"Use Python": "n"} for decision in decisions)
    assert near(plain / len(decisions), RATES["decision"]["not_calculated"])


def _fails(text: str) -> bool:
    """Whether the snippet does not parse, or reads a name that it has not assigned."""
    code = json.loads(text)["Python"]["Python Code"].strip("`").removeprefix("python\n").removesuffix("```python")
    try:
        names = [node for node in ast.walk(ast.parse(code)) if isinstance(node, ast.Name)]
    except SyntaxError:
        return True
    known = {node.id for node in names if isinstance(node.ctx, ast.Store)} | {"math"}
    return any(node.id not in known for node in names)


def test_first_attempts_fail_at_their_rate_and_never_once_their_error_is_shown() -> None:
    first, again = ([_fails(text) for text in answers(state) if strict(text)] for state in ("use_python", "again"))
    assert near(sum(first) / len(first), sum(RATES["failure"].values()))
    assert not any(again)


def test_a_worse_level_has_every_fault_more_often() -> None:
    kind, bad = (Rates(RATES, LEVELS[level]) for level in ("real", "harsh"))
    for table in ("verdict", "giveaway", "kinds.right", "step_number", "reply"):
        drawn = [sum(rates.fault(table, Random(seed)) is not None for seed in range(CALLS)) for rates in (kind, bad)]
        assert drawn[1] > 1.5 * drawn[0] or drawn[1] == CALLS, table


def test_a_level_of_lengths_has_long_messages_and_no_fault() -> None:
    long = Rates(RATES, LEVELS["long"])
    for table in ("verdict", "giveaway", "kinds.right", "step_number", "block", "failure"):
        assert not any(long.fault(table, Random(seed)) for seed in range(CALLS)), table
    for table in ("student", "reply"):
        assert {long.fault(table, Random(seed)) for seed in range(CALLS)} == {None, "over_limit"}


@pytest.mark.parametrize("state", ["received_python", "use_python"])
def test_noise_strikes_the_same_request_the_same_way(state: str) -> None:
    assert answers(state, 50) == answers(state)[:50]


def test_asking_again_with_another_seed_gets_past_a_malformed_answer() -> None:
    said = answers("received_python")
    refused = said.index(next(text for text in said if text in RATES["words"]["refusals"]))
    assert any(strict(text) for text in said[refused + 1 : refused + 4])
