"""Checks how `soliloquy show` prints a problem's enrichment."""

import io
import json
from pathlib import Path

import pytest
from click.testing import CliRunner
from rich.console import Console

from soliloquy.cli.datasets import compare
from soliloquy.cli.show import show_conversation
from soliloquy.dataset.telling_apart import LEAST
from soliloquy.runtime.failure import Failure
from soliloquy.v1.conversation_pb2 import (
    CLAIM_READER_MODEL,
    CLAIM_READER_SPEAKER,
    Conversation,
    Enrichment,
    ModelCall,
)
from tests.unit.recipes.conversations import enriched_conversation, sound_conversation
from tests.unit.training.growing import conversations, dataset, dialogues


def shown(conversation: Conversation) -> str:
    conversation.turns[0].calls.append(ModelCall(model="scripted"))
    output = io.StringIO()
    show_conversation(conversation, Console(file=output, width=100))
    return output.getvalue()


def test_the_outline_comes_before_the_conversation() -> None:
    text = shown(enriched_conversation())
    assert text.index("Step 2) Find the work.") < text.index("Student")


def test_why_a_problem_is_not_enriched_is_said() -> None:
    plain = sound_conversation()
    plain.problem.enrichment.CopyFrom(Enrichment(plain_because="soliloquy/enriching: unusable after 3 asks"))
    assert "soliloquy/enriching: unusable after 3 asks" in shown(plain)
    assert "Not enriched" not in shown(sound_conversation())


def test_no_text_of_a_conversation_commands_the_terminal() -> None:
    commands = "\x1b[2J\x1b]0;owned\x07 \x9b31m \u202etxet\u2066"
    hostile = sound_conversation()
    hostile.problem.question += commands
    hostile.problem.source = hostile.turns[0].student.text = hostile.turns[0].tutor.text = commands
    text = shown(hostile)
    assert not set(commands) & set(text) - set("[2J]0;owned 31mtxet")
    assert "\\x1b[2J" in text
    assert "\\u202etxet" in text


def test_what_a_message_claims_stands_below_it_with_what_the_ledger_says() -> None:
    made = sound_conversation()
    said, told = made.turns[0].student, made.turns[0].tutor
    said.claims.add(quantity="W", value=90000, unit="J")
    said.claims_by = CLAIM_READER_MODEL
    told.claims.add(quantity="F", value=3600, unit="N")
    told.claims_by = CLAIM_READER_SPEAKER
    text = shown(made)
    assert "W = 90000 J is wrong (180000 J), as a model reads it" in text
    assert text.index("F = 3600 N is right") > text.index("Tutor")
    assert "is open" not in text


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
    assert told["accuracy"] > 0.9
    assert told["features"][0]["name"] == "tutor: exclamation marks in 100 words"


def test_a_dataset_in_which_nobody_speaks_is_refused_in_a_line(physics: Path, tmp_path: Path) -> None:
    silent = dataset(tmp_path / "silent", [])
    with pytest.raises(Failure, match="silent holds no conversation in which anybody speaks"):
        CliRunner().invoke(compare, [str(physics), str(silent)], catch_exceptions=False)
