"""Each format by hand: what a small conversation is in it."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from soliloquy.dataset.exports import format as formats
from soliloquy.dataset.exports.format import ExportOptions
from soliloquy.dataset.exports.formats import openai, sharegpt
from soliloquy.recipes import packages
from soliloquy.runtime.extensions import Extensions
from soliloquy_papers.mathdial.formats import mathdial
from soliloquy_papers.mathwell.formats import sgsm
from soliloquy_papers.soliloquy.formats import fastchat, soliloquies
from tests.unit.dataset.small import small, told

BARE = ExportOptions(leave_out=frozenset({"prompts"}))
SPOKEN = ExportOptions(leave_out=frozenset({"hidden", "prompts"}))

ROWS: dict[str, Any] = json.loads(Path(__file__).with_suffix(".json").read_text("utf-8"))
FORMATS: dict[str, tuple[Callable[..., Any], ExportOptions]] = {
    "openai": (openai.row, BARE),
    "openai, what was said": (openai.row, SPOKEN),
    "sharegpt": (sharegpt.row, BARE),
    "fastchat": (fastchat.row, BARE),
    "soliloquies": (soliloquies.row, ExportOptions()),
    "mathdial": (mathdial.row, SPOKEN),
    "sgsm": (sgsm.row, SPOKEN),
}


@pytest.mark.parametrize("name", FORMATS)
def test_a_small_conversation_is_the_row_that_is_written_beside(name: str) -> None:
    row, choice = FORMATS[name]
    assert row(told(small()), choice) == ROWS[name]


def test_the_function_of_an_sgsm_row_comes_to_its_answer() -> None:
    names: dict[str, Any] = {}
    exec(ROWS["sgsm"]["solution"], names)
    assert names["solution"]() == ROWS["sgsm"]["answer"]


def test_the_system_message_has_the_problem_and_its_solution() -> None:
    row = openai.row(told(small()), ExportOptions())
    assert row is not None
    assert row["messages"][0]["role"] == "system"
    assert row["messages"][0]["content"].endswith(
        "<question>\nA cart rolls 6 m in 2 s. How fast is it?\n</question>\n\n"
        "<solution>\nStep 1) v = s / t = 3 m/s\n</solution>"
    )
    kept = openai.row(told(small()), ExportOptions(leave_out=frozenset({"solutions"})))
    assert kept is not None
    assert "<solution>" not in kept["messages"][0]["content"]


def test_fastchat_begins_with_the_prompt() -> None:
    row = fastchat.row(told(small()), ExportOptions(leave_out=frozenset({"hidden"})))
    assert row is not None
    first = row["conversations"][0]
    assert first["from"] == "human"
    assert first["value"].startswith("You are a patient tutor")
    assert first["value"].endswith('</solution>\n\nIt\'s "12" m/s')


def test_sgsm_has_no_row_for_a_problem_without_numbers() -> None:
    conceptual = small()
    conceptual.problem.ClearField("steps")
    assert sgsm.row(told(conceptual), SPOKEN) is None


def _package(folder: Path, name: str, *modules: str) -> None:
    (folder / name / "formats").mkdir(parents=True)
    for file in ("__init__", "formats/__init__", *(f"formats/{module}" for module in modules)):
        (folder / name / f"{file}.py").touch()


def test_formats_of_somebody_elses_recipe_are_found_and_none_takes_the_name_of_another(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    _package(tmp_path, "socratic_debugging", "dialogues", "_shared")
    _package(tmp_path, "copied_debugging", "openai")
    monkeypatch.syspath_prepend(tmp_path)
    named = {"debugging": ["socratic_debugging"], "copied": ["copied_debugging"]}
    monkeypatch.setattr(packages.RECIPES, "claims", named)
    found = Extensions("export format", "soliloquy.exports", formats._ours).claims
    assert found["dialogues"] == ["socratic_debugging.formats.dialogues:FORMAT"]
    assert {*found} == {"dialogues", "hf", "openai", "preferences", "sharegpt"}
    assert found["openai"] == ["soliloquy.dataset.exports.formats.openai:FORMAT"]
    assert "copied_debugging.formats.openai:FORMAT is not used" in caplog.text
