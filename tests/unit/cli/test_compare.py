"""`soliloquy compare`: what it prints of two datasets, and when it cannot tell them apart."""

import json
from pathlib import Path

import pytest
from click.testing import CliRunner

from soliloquy.cli.compare import compare
from soliloquy.dataset.telling_apart import LEAST
from soliloquy.runtime.failure import Failure
from tests.unit.training.growing import conversations, dataset, dialogues


@pytest.fixture(scope="module")
def physics(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return dataset(tmp_path_factory.mktemp("physics") / "grown", conversations(4))


@pytest.fixture(scope="module")
def arithmetic(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return dataset(tmp_path_factory.mktemp("arithmetic") / "dialled", dialogues())


def test_two_datasets_stand_side_by_side_and_too_few_are_not_told_apart(physics: Path, arithmetic: Path) -> None:
    ran = CliRunner().invoke(compare, [str(physics), str(arithmetic)], catch_exceptions=False, env={"COLUMNS": "200"})
    assert "conversations" in ran.output
    assert "different openings of 4" in ran.output
    assert f"Too few conversations to tell them apart: {LEAST} of each are required." in ran.output


def test_openings_are_compared_at_equal_size(physics: Path, arithmetic: Path) -> None:
    ran = CliRunner().invoke(compare, [str(physics), str(arithmetic), "--json"], catch_exceptions=False)
    ours, theirs = json.loads(ran.output)["datasets"]
    assert (ours["conversations"], theirs["conversations"]) == (4, len(dialogues()))
    assert theirs["openings"] <= theirs["openings_at_equal_size"] <= 1
    assert json.loads(ran.output)["told_apart"] is None


def test_what_differs_in_every_conversation_gives_a_dataset_away(tmp_path: Path) -> None:
    plain = list(conversations(LEAST))
    shouted = [type(one).FromString(one.SerializeToString()) for one in plain]
    for one in shouted:
        for turn in one.turns:
            turn.tutor.text = f"Oho! Zounds! {turn.tutor.text}"
    folders = [str(dataset(tmp_path / name, made)) for name, made in (("plain", plain), ("shouted", shouted))]
    ran = CliRunner().invoke(compare, [*folders, "--json"], catch_exceptions=False)
    told = json.loads(ran.output)["told_apart"]
    assert told["accuracy"] > 0.95
    assert told["features"][0]["name"] == "tutor: exclamation marks in 100 words"


def test_a_dataset_in_which_nobody_speaks_is_refused_in_a_line(physics: Path, tmp_path: Path) -> None:
    silent = dataset(tmp_path / "silent", [])
    with pytest.raises(Failure, match="silent holds no conversation in which anybody speaks"):
        CliRunner().invoke(compare, [str(physics), str(silent)], catch_exceptions=False)
