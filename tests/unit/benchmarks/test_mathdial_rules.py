"""What becomes of labelled objections to the dialogues of people is counted by rule."""

import csv
import json
from pathlib import Path

import pytest
from click.testing import CliRunner

from benchmarks import mathdial_rules
from benchmarks.__main__ import benchmarks

_ASKED = "What did you do with the 12 boxes at first?"
_SAID = ["I took 12 of them.", "I took all of them and then half.", "I added 12 and 6 to get 17."]
_COLUMNS = ("qid", "question", "ground_truth", "self-correctness", "conversation")


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    talk = "|EOM|".join(f"Teacher: (focus){_ASKED}|EOM|Ida: {said}" for said in _SAID)
    talk += "|EOM|Teacher: (telling)No, 12 * 6 = 73."
    with (tmp_path / "test.csv").open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow(_COLUMNS)
        writer.writerow(["1", "How many pens are in 12 boxes of 6?", "12 * 6 = 72\n 72", "Yes", talk])
    rows = [
        {"row": 0, "turn": 2, "rule": "repeated", "label": "fault"},
        {"row": 0, "turn": 3, "rule": "repeated", "label": "no fault"},
        {"row": 0, "turn": 4, "rule": "arithmetic", "label": "fault"},
    ]
    labels = tmp_path / "labels.jsonl"
    labels.write_text("\n".join(json.dumps({"file": "test.csv", **row}) for row in rows), "utf-8")
    monkeypatch.setattr(mathdial_rules, "LABELS", labels)
    sums = tmp_path / "sums.jsonl"
    told = [{"turn": 4, "label": "fault"}, {"turn": 1, "label": "no fault"}]
    sums.write_text("\n".join(json.dumps({"file": "test.csv", "row": 0, **row}) for row in told), "utf-8")
    monkeypatch.setattr(mathdial_rules, "SUMS", sums)
    return tmp_path


def test_objections_are_counted_by_what_the_rule_does(folder: Path) -> None:
    result = CliRunner().invoke(benchmarks, ["mathdial-rules", str(folder), "--json"])
    assert json.loads(result.output) == {
        "arithmetic": {"labelled": 1, "faults": 1, "not raised": 1},
        "repeated": {"labelled": 2, "faults": 1, "marked": 2, "marked in error": 1},
        "unlabelled": {"marked": 1, "condemned": 2},
        "all": {
            "labelled": 3, "faults": 2, "not raised": 1, "marked": 3, "marked in error": 1, "condemned": 2,
        },
        "sums": {"labelled": 2, "faults": 1, "condemned": 1, "not raised": 1},
        "dialogues": {"condemned": 1},
    }  # fmt: skip


def test_objections_without_a_label_are_listed(folder: Path) -> None:
    result = CliRunner().invoke(benchmarks, ["mathdial-rules", str(folder), "--list"])
    assert "test.csv row 0 turn 3: loop condemned: unlabelled" in result.output


def test_a_folder_without_the_labelled_dialogues_is_refused(folder: Path) -> None:
    (folder / "test.csv").unlink()
    result = CliRunner().invoke(benchmarks, ["mathdial-rules", str(folder)])
    assert result.exit_code == 2
    assert "test.csv does not exist" in result.output
