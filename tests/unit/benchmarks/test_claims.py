"""The truth check's own error is counted claim by claim, on labels that name a place and hold no text."""

import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from benchmarks import claims
from benchmarks.__main__ import benchmarks


def _turn(student: str, output: str, evaluation: str, reply: str) -> list[dict[str, Any]]:
    return [
        {"from": "student", "value": student},
        {"from": "deciding_state", "value": {"Use Python": "y", "Description": "the speed"}},
        {
            "from": "use_python_state",
            "value": {"Python": {"Python Code": "speed = 12 / 4", "Result Variable": "speed"}},
        },
        {"from": "python_output", "value": f'Tutorbot calculated "speed" to be {output}.\n'},
        {
            "from": "received_python_state",
            "value": {"Evaluation of Student Response": evaluation, "Tutorbot Response": reply},
        },
    ]


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    said = _turn("It is 3 m/s.", "3.0", "a", "No, it is not 4 m/s.") + _turn("Is it 3 m/s?", "3.0", "b", "Yes, 3 m/s.")
    file = tmp_path / "conversation_1.json"
    file.write_text(json.dumps({"conversations": said}), "utf-8")
    labels = tmp_path / "labels.jsonl"
    rows = [{"turn": 4, "label": "contradicts"}, {"turn": 9, "label": "agrees"}, {"turn": 9, "label": "contradicts"}]
    labels.write_text("\n".join(json.dumps({"file": file.name, "number": 1, **row}) for row in rows), "utf-8")
    monkeypatch.setitem(claims.SETS, "claims", labels)
    return tmp_path


def test_contradictions_are_found_or_missed(folder: Path) -> None:
    result = CliRunner().invoke(benchmarks, ["claims", str(folder), "--json"])
    counts = json.loads(result.output)["numbers alone"]
    assert counts == {"claims": 3, "contradict": 2, "found": 1, "missed": 1}


def test_a_folder_without_the_labelled_conversations_is_refused(folder: Path) -> None:
    (folder / "conversation_1.json").unlink()
    result = CliRunner().invoke(benchmarks, ["claims", str(folder)])
    assert result.exit_code == 2
    assert "has no conversation_1.json" in result.output
