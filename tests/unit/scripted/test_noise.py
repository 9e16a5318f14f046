import ast
import asyncio
import json
import math
import re
import tomllib
from collections import Counter
from collections.abc import Callable
from functools import cache
from pathlib import Path
from random import Random
from typing import Any

import pytest

from soliloquy.standin.faults import LEVELS, Rates
from soliloquy.standin.speakers import rates_of
from soliloquy.v1.model_pb2 import GenerateRequest
from soliloquy_services.model.engines import noise
from soliloquy_services.model.engines.noise import noise_of
from soliloquy_services.model.engines.scripted import ScriptedEngine
from tests.unit.scripted.driver import request

CALLS = 2500
TABLES = tomllib.loads(Path(noise.__file__).with_name("noise.toml").read_text("utf-8"))
OWN = rates_of("soliloquy")
RATES = {**TABLES, **OWN, "words": {**TABLES["words"], **OWN["words"]}}
REFUSALS = TABLES["words"]["refusals"]
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
def answers(state: str) -> list[str]:
    async def ask() -> list[str]:
        engine = ScriptedEngine(noise=noise_of("real"))
        return [(await engine.generate(_ASKED[state](seed))).text for seed in range(CALLS)]

    return asyncio.run(ask())


def judgements() -> list[str]:
    return answers("received_python")


def strict(text: str) -> bool:
    try:
        json.loads(text)
    except json.JSONDecodeError:
        return False
    return True


def parsed(texts: list[str]) -> list[dict[str, Any]]:
    """Counts the answers that are strict JSON or Python literals."""
    return [
        json.loads(text) if strict(text) else ast.literal_eval(text)
        for text in texts
        if strict(text) or _is_literal(text)
    ]


def _is_literal(text: str) -> bool:
    return text.startswith("{'") and text.endswith("}")


def near(share: float, rate: float) -> bool:
    """Within four standard deviations of so many draws."""
    return abs(share - rate) <= 4 * math.sqrt(rate * (1 - rate) / (CALLS * 0.9))


def _block(text: str) -> str:
    if strict(text):
        return "strict"
    if _is_literal(text):
        return "python_literal"
    if text in REFUSALS:
        return "refusal"
    if text.endswith(",}"):
        return "trailing_comma"
    return "missing_brace" if strict(text + "}") else "truncated"


def test_blocks_are_malformed_at_the_published_rates() -> None:
    shares = Counter(map(_block, judgements()))
    assert set(shares) == {*RATES["block"], "strict"}
    for fault, rate in RATES["block"].items():
        assert near(shares[fault] / CALLS, rate), fault


def test_codes_are_labelled_at_the_published_rates() -> None:
    fields = parsed(judgements())
    codes = [field["Evaluation of Student Response"] for field in fields]
    sentences = {f"{code}) {words}" for code, words in RATES["words"]["sentences"].items()}
    labels = {f"{code}) {words}" for code, words in RATES["words"]["labels"].items()}
    realised = {
        "sentence": sum(code in sentences for code in codes),
        "labelled": sum(code in labels for code in codes),
        "bare": sum(code in ("a)", "b)") for code in codes),
        "aliased_key": sum("Action Based on the Evaluation" in field for field in fields),
    }
    for fault, rate in RATES["code_label"].items():
        assert near(realised[fault] / len(fields), rate), fault


def test_step_numbers_are_miswritten_at_their_rates() -> None:
    fields = parsed(judgements())
    shares = Counter(field["Step Number"] for field in fields)
    written = {
        **{"Step 5": "worded", "5 & 6": "several", "5b": "lettered"},
        **{"4": "backwards", "6": "skipped", "N/A": "none"},
    }
    assert set(shares) == {*written, "5"}
    for number, fault in written.items():
        assert near(shares[number] / len(fields), RATES["step_number"][fault]), fault


def test_verdicts_are_contradicted_at_the_published_rate() -> None:
    fields = parsed(judgements())
    contradicting = sum(field["Evaluation of Student Response"].startswith("b") for field in fields)
    assert near(contradicting / len(fields), RATES["verdict"]["contradicted"])


def test_students_write_their_name_at_its_rate() -> None:
    said = answers("student")
    assert near(sum('"Message": "Student: ' in text for text in said) / CALLS, RATES["prefix"]["speaker"])


def test_students_who_are_to_be_right_are_wrong_three_times_in_ten() -> None:
    numbers = [text for text in answers("student") if "m/s^2" in text]
    wrong = sum(not re.search(r"(?<![\d.])3\.60?(?!\d)", text) for text in numbers)
    assert wrong / CALLS == pytest.approx(RATES["kinds"]["right"]["wrong"], abs=0.04)


@pytest.mark.parametrize("table", ["student", "reply"])
def test_messages_are_too_long_at_their_rates(table: str) -> None:
    replies = [field["Tutorbot Response"] for field in parsed(judgements())]
    said = answers("student") if table == "student" else replies
    lengths = [len(text.split()) for text in said]
    assert near(sum(length > 120 for length in lengths) / len(said), RATES[table]["too_long"])
    padded = [any(sentence in text for sentence in RATES["words"]["messages"][table]["padding"]) for text in said]
    assert near(sum(padded) / len(said), RATES[table]["too_long"] + RATES[table]["over_limit"])


def test_replies_tell_the_result_too_early_at_the_published_rate() -> None:
    said = [field["Tutorbot Response"] for field in parsed(judgements())]
    assert near(sum("3.6" in text for text in said) / len(said), RATES["giveaway"]["told"])


def test_some_results_are_not_calculated() -> None:
    decisions = [text for text in answers("deciding") if strict(text)]
    plain = sum(json.loads(text) == {"Use Python": "n"} for text in decisions)
    assert near(plain / len(decisions), RATES["decision"]["not_calculated"])


def test_a_worse_level_has_every_fault_more_often() -> None:
    kind, bad = (Rates(RATES, LEVELS[level]) for level in ("real", "harsh"))
    for table in ("verdict", "giveaway", "kinds.right", "step_number", "reply"):
        drawn = [sum(rates.fault(table, Random(seed)) is not None for seed in range(CALLS)) for rates in (kind, bad)]
        assert drawn[1] > 1.5 * drawn[0] or drawn[1] == CALLS, table


def test_a_level_of_lengths_has_long_messages_at_their_rate_and_no_fault() -> None:
    long = Rates(RATES, LEVELS["long"])
    for table in ("verdict", "giveaway", "kinds.right", "step_number", "block", "failure"):
        assert not any(long.fault(table, Random(seed)) for seed in range(CALLS)), table
    for table in ("student", "reply"):
        drawn = Counter(long.fault(table, Random(seed)) for seed in range(CALLS))
        assert drawn.keys() == {None, "over_limit"}
        assert near(drawn["over_limit"] / CALLS, RATES[table]["over_limit"])


def snippets(state: str = "use_python") -> list[str]:
    fields = parsed(answers(state))
    return [field["Python"]["Python Code"] for field in fields]


def _fence(code: str) -> str:
    opening = re.match(r"`*", code)
    ticks = len(opening.group()) if opening else 0
    if ticks == 3 and code.endswith("```python"):
        return "repeats_python"
    return {0: "none", 1: "single", 2: "double", 3: "triple"}[ticks]


def _bare(code: str) -> str:
    return re.sub(r"^`+python\n|\n`+(python)?$", "", code)


def _fails(code: str) -> bool:
    """Whether the snippet does not parse, or reads a name that it has not assigned."""
    try:
        tree = ast.parse(_bare(code))
    except SyntaxError:
        return True
    names = [node for node in ast.walk(tree) if isinstance(node, ast.Name)]
    known = {node.id for node in names if isinstance(node.ctx, ast.Store)}
    known |= {alias.name for node in ast.walk(tree) if isinstance(node, ast.Import) for alias in node.names}
    return any(node.id not in known for node in names)


def test_code_fields_are_fenced_in_every_way_at_their_rates() -> None:
    codes = snippets()
    shares = Counter(map(_fence, codes))
    assert set(shares) >= {"triple", "single", "double", "repeats_python"}
    for fence, rate in RATES["fence"].items():
        assert near(shares[fence] / len(codes), rate), fence


def test_a_few_percent_of_first_attempts_fail() -> None:
    codes = snippets()
    assert near(sum(map(_fails, codes)) / len(codes), sum(RATES["failure"].values()))


def test_code_that_is_shown_its_error_never_fails_again() -> None:
    codes = snippets("again")
    assert not any(map(_fails, codes))


def test_some_code_has_greek_names_and_its_result_is_still_named() -> None:
    answers_given = parsed(answers("use_python"))
    greek = [field["Python"] for field in answers_given if not field["Python"]["Python Code"].isascii()]
    assert near(len(greek) / len(answers_given), RATES["code"]["greek_name"])
    for field in greek:
        for name in field["Result Variable"].split(", "):
            assert re.search(rf"^{name} = ", field["Python Code"], re.MULTILINE)


@pytest.mark.parametrize("state", ["received_python", "use_python"])
async def test_noise_strikes_the_same_request_the_same_way(state: str) -> None:
    engine = ScriptedEngine(noise=noise_of("real"))
    again = [(await engine.generate(_ASKED[state](seed))).text for seed in range(300)]
    assert again == answers(state)[:300]


async def test_asking_again_with_another_seed_gets_past_a_malformed_answer() -> None:
    refused = next(seed for seed, text in enumerate(judgements()) if _block(text) == "refusal")
    assert any(strict(text) for text in judgements()[refused + 1 : refused + 4])
