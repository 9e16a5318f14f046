"""When an adapter goes into service is a file that is checked before anything is trained."""

from pathlib import Path

import pytest

from soliloquy.runtime.failure import Failure
from soliloquy_training.continuous.policy import SHIPPED, Policy, read_policy

SOUND = """
evaluation = { problems = "physics", questions = 5, seed = 1, max_tokens = 100 }
may_lose = { verification = 0.02 }
canaries = { count = 1, readable = 0.5 }
"""
METRICS = {name: name for name in ("usage", "non_usage", "compilation")} | {"verification": "calculation verification"}
MARGINS = {"usage": 0.04, "verification": 0.02}


def read(file: Path) -> Policy:
    return read_policy(file, metrics=METRICS, problems="physics", may_lose=MARGINS)


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("[", "cannot read"),
        (
            SOUND.replace("verification", "eloquence"),
            "may_lose: eloquence is not a figure of the evaluation",
        ),
        (
            SOUND.replace("questions = 5", "questions = 0"),
            "evaluation.questions: Input should be greater than or equal",
        ),
        (SOUND.replace("readable = 0.5", "readable = 5"), "canaries.readable: "),
        (SOUND.replace("seed = 1, ", ""), "evaluation.seed: Field required"),
    ],
    ids=["no TOML", "unknown figure", "no question", "no share", "no seed"],
)
def test_what_is_wrong_with_a_policy_is_one_line(tmp_path: Path, text: str, told: str) -> None:
    file = tmp_path / "own.toml"
    file.write_text(text)
    with pytest.raises(Failure, match=r"own\.toml") as refused:
        read(file)
    assert told in str(refused.value)
    assert "\n" not in str(refused.value)


def test_a_figure_may_lose_its_margin_and_no_more_and_others_are_not_looked_at(tmp_path: Path) -> None:
    file = tmp_path / "own.toml"
    file.write_text(SOUND)
    policy = read(file)
    before = {"usage": 1.0, "non_usage": 1.0, "compilation": 1.0, "verification": 0.5}
    assert policy.complaint(before, {**before, "verification": 0.48, "usage": 0.0}, METRICS) == ""
    assert policy.complaint(before, {**before, "verification": 0.46}, METRICS) == (
        "calculation verification is 0.46, before 0.50; the policy requires 0.48"
    )


def test_a_margin_below_nothing_asks_for_better(tmp_path: Path) -> None:
    file = tmp_path / "own.toml"
    file.write_text(SOUND.replace("0.02", "-0.1"))
    policy = read(file)
    assert policy.complaint({"verification": 0.5}, {"verification": 0.5}, METRICS)
    assert not policy.complaint({"verification": 0.5}, {"verification": 0.6}, METRICS)


def test_what_a_policy_leaves_open_is_the_recipes_own() -> None:
    policy = read(SHIPPED)
    assert (policy.evaluation.problems, policy.evaluation.questions, policy.may_lose) == ("physics", 25, MARGINS)
