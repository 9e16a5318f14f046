"""A configuration is validated before anything is loaded; the shipped ones are the papers'."""

from pathlib import Path

import pytest

import soliloquy_training
from soliloquy.recipes.packages import folder, known_recipes
from soliloquy.recipes.recipe import ReplyContext
from soliloquy.runtime.failure import Failure
from soliloquy_training.continuous.folder import SHIPPED, Policy, read_policy
from soliloquy_training.settings import read_settings
from tests.cases import each_case

CONFIGS = {
    path.stem: path
    for place in (Path(soliloquy_training.__file__).parent, *map(folder, known_recipes()))
    for path in sorted((place / "configs").glob("*.yaml"))
}


@each_case
def test_what_is_wrong_with_a_configuration_is_one_line(tmp_path: Path, text: str, told: str) -> None:
    file = tmp_path / "own.yaml"
    file.write_text(text)
    with pytest.raises(Failure, match=r"own\.yaml") as refused:
        read_settings(file)
    assert told in str(refused.value)
    assert "\n" not in str(refused.value)


@pytest.mark.parametrize("file", CONFIGS.values(), ids=CONFIGS.keys())
def test_every_configuration_that_comes_along_is_one(file: Path) -> None:
    assert read_settings(file).sequence_length >= 1024


def test_mathdial_is_trained_as_the_paper_says_and_its_ablation_is_a_setting(tmp_path: Path) -> None:
    settings = read_settings(CONFIGS["mathdial"])
    assert (settings.learning_rate, settings.epochs, settings.decay, settings.warmup_share) == (
        6.25e-5,
        10,
        "linear",
        0,
    )
    assert (settings.tune, settings.layout, settings.given) == (
        "full",
        "replies",
        ReplyContext(move=True, grounding=True),
    )
    variant = tmp_path / "without.yaml"
    text = CONFIGS["mathdial"].read_text("utf-8")
    variant.write_text(text.replace("given: {move: true, grounding: true}", "given: {move: false, grounding: false}"))
    assert read_settings(variant).given == ReplyContext(move=False, grounding=False)
    assert read_settings(variant).digest != settings.digest


SOUND = """
evaluation = { problems = "physics", questions = 5, seed = 1, max_tokens = 100 }
may_lose = { verification = 0.02 }
canaries = { count = 1, readable = 0.5 }
"""
METRICS = {name: name for name in ("usage", "non_usage", "compilation")} | {"verification": "calculation verification"}
MARGINS = {"usage": 0.04, "verification": 0.02}


def read(file: Path) -> Policy:
    return read_policy(file, metrics=METRICS, problems="physics", may_lose=MARGINS)


@each_case
def test_what_is_wrong_with_a_policy_is_one_line(tmp_path: Path, old: str | None, new: str, told: str) -> None:
    file = tmp_path / "own.toml"
    file.write_text(SOUND.replace(old or SOUND, new))
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
