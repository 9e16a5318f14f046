"""The check of the protobuf contract finds what would break a reader."""

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.cases import each_case

PROTOS = Path(__file__).parents[3] / "protos"
CONVERSATION = "soliloquy/v1/conversation.proto"


def check(released: Path, current: Path) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, str(PROTOS / "check.py"), str(released), str(current)]
    return subprocess.run(command, capture_output=True, text=True, check=False)


@pytest.fixture
def contract(tmp_path: Path) -> Path:
    shutil.copytree(PROTOS / "soliloquy", tmp_path / "soliloquy", ignore=shutil.ignore_patterns("*.py*"))
    for labels in [
        *PROTOS.parent.glob("soliloquy/recipes/*/labels.proto"),
        *PROTOS.parent.glob("papers/*/labels.proto"),
    ]:
        copy = tmp_path / "soliloquy" / "recipes" / labels.parent.name / labels.name
        copy.parent.mkdir(parents=True)
        shutil.copy(labels, copy)
    return tmp_path


def edit(contract: Path, before: str, after: str) -> None:
    path = contract / CONVERSATION
    text = path.read_text("utf-8")
    assert before in text
    path.write_text(text.replace(before, after, 1), "utf-8")


def test_the_contract_of_this_checkout_breaks_no_reader_of_the_last_release() -> None:
    result = check(PROTOS / "released", PROTOS)
    assert (result.returncode, result.stderr) == (0, "")


def test_an_added_field_breaks_nobody(contract: Path) -> None:
    edit(contract, "string unit = 4;", "string unit = 4;\n  string note = 5;")
    assert check(PROTOS, contract).returncode == 0


@each_case
def test_a_change_that_breaks_a_reader_is_named(contract: Path, before: str, after: str, complaint: str) -> None:
    edit(contract, before, after)
    result = check(PROTOS, contract)
    assert result.returncode == 1
    assert complaint in result.stderr


def test_a_reserved_number_may_go(contract: Path) -> None:
    edit(contract, "  string symbol = 1;\n", "  reserved 1;\n")
    assert check(PROTOS, contract).returncode == 0


def test_a_message_may_move_to_a_recipe_and_may_not_change_there(contract: Path) -> None:
    labels = contract / "soliloquy" / "recipes" / "mathdial" / "labels.proto"
    released = PROTOS / "released"
    assert check(released, contract).returncode == 0
    labels.write_text(labels.read_text("utf-8").replace("MOVE_FOCUS = 1", "MOVE_FOCUS = 7"), "utf-8")
    assert "MOVE_FOCUS: value 1 was removed or renumbered" in check(released, contract).stderr
