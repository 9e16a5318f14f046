"""Faults of published conversations are counted by state, on conversations in the published form."""

import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from benchmarks.__main__ import benchmarks


def _reply(text: str, *, letter: str = "b", step: str = "1") -> dict[str, Any]:
    return {
        "Thoughts of Tutorbot": "It is clear.",
        "Evaluation of Student Response": letter,
        "Action Based on Evaluation": "3" if letter == "b" else "1",
        "Step Number": step,
        "Step State": "q",
        "Tutorbot Response": text,
    }


def _said(speaker: str, value: Any) -> dict[str, Any]:
    return {"from": speaker, "value": value}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    program = {"Python": {"Python Code": "```python\nspeed = 37 / 2\n```", "Result Variable": "speed, ok"}}
    output = 'Tutorbot calculated "speed" to be 18.5.\nTutorbot calculated "ok" to be False.\n'
    said = [
        _said("student", "Student: How do I find the speed?"),
        _said("initial_state", _reply("What is known? What is asked?", letter="g) N/A")),
        _said("student", "I get 17 m/s."),
        _said("deciding_state", {"Use Python": "y", "Description": "the speed"}),
        _said("use_python_state", program),
        _said("python_output", output),
        _said("received_python_state", _reply("Yes, that is right.", letter="a", step="Step 3")),
        _said("student", "Then it is 17.25 m/s."),
        _said("deciding_state", {"Use Python": "y", "Description": "the speed"}),
        _said("use_python_state", program),
        _said("python_output", output),
        _said("received_python_state", _reply("It should be 18.5 m/s, try again.", letter="b", step="3")),
    ]
    (tmp_path / "conversation_1.json").write_text(json.dumps({"conversations": said}), "utf-8")
    return tmp_path


def test_each_fault_is_counted_under_its_state(folder: Path) -> None:
    printed = CliRunner().invoke(benchmarks, ["noise-rates", str(folder), "--json"], catch_exceptions=False)
    found = json.loads(printed.stdout)["faults"]
    assert found["student"] == {"speaker's name": 1, "of": 3}
    assert found["verdict"] == {"contradicted": 1, "of": 2}
    assert found["answer"] == {"reply says the opposite": 1, "wrong": 1, "of": 2}
    assert found["reply"] == {
        "answer given early": 1,
        "code: labelled": 1,
        "step: skipped": 1,
        "step: worded": 1,
        "two questions": 1,
        "of": 3,
    }


def test_a_folder_without_conversations_is_refused(tmp_path: Path) -> None:
    refused = CliRunner().invoke(benchmarks, ["noise-rates", str(tmp_path)])
    assert refused.exit_code == 2
    assert "has no conversations" in refused.output
