"""How a tutor's words are judged is compared with labels, by what was labelled."""

import csv
import json
from pathlib import Path

import pytest
from click.testing import CliRunner

from benchmarks import evidence
from benchmarks.__main__ import benchmarks

_SAID = ["How did you get there?", "Why did you add the 6 to the 12?", "Each box holds 6 pens, so what is 12 * 6?"]
_COLUMNS = ("qid", "question", "ground_truth", "student_incorrect_solution", "self-correctness", "conversation")


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    talk = "|EOM|".join(f"Teacher: (focus){said}|EOM|Ida: I took them together." for said in _SAID)
    with (tmp_path / "test.csv").open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow(_COLUMNS)
        wrong = "There are 12 + 6 = 18 pens.\n 18"
        writer.writerow(
            ["1", "How many pens are in 12 boxes of 6?", "12 * 6 = <<12*6=72>>72\n#### 72", wrong, "Yes", talk]
        )
    rows = [(1, "nothing"), (2, "nothing"), (3, "says")]
    labels = tmp_path / "labels.jsonl"
    told = [{"file": "test.csv", "row": 0, "turn": turn, "label": label, "sample": 1} for turn, label in rows]
    labels.write_text("\n".join(map(json.dumps, told)), "utf-8")
    monkeypatch.setattr(evidence, "LABELS", labels)
    return tmp_path


def test_false_alarms_and_misses_are_counted_by_label(folder: Path) -> None:
    result = CliRunner().invoke(benchmarks, ["evidence", str(folder), "--json"])
    found = json.loads(result.output)
    assert found["sample 1: nothing"] == {"labelled": 2, "as labelled": 1, "false alarms": 1}
    assert found["sample 1: says"] == {"labelled": 1, "as labelled": 1}


def test_what_is_judged_otherwise_is_listed(folder: Path) -> None:
    result = CliRunner().invoke(benchmarks, ["evidence", str(folder), "--list"])
    assert "test.csv row 0 turn 2: nothing, judged 1" in result.output
