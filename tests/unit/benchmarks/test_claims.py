"""The truth check's own error is counted claim by claim, on labels that name a place and hold no text."""

import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from benchmarks import claims, figures
from benchmarks.__main__ import benchmarks
from benchmarks.figures import judged
from benchmarks.variety import is_about_topic
from soliloquy.programs.tracing import structure_of
from soliloquy_papers.mathwell.criteria.verdicts import WordProblem
from tests.cases import each_case


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


TARGETS = """
[[target]]
name = "jobs a second"
figure = "load.rate"
at_least = 500

[[target]]
name = "boot to ready: s"
figure = "boot_seconds"
at_most = 2

[[target]]
name = "not measured"
figure = "kills.seconds"
at_most = 1
"""


def test_a_quantile_is_one_of_the_values() -> None:
    values = [float(number) for number in range(100, 0, -1)]
    assert [figures.quantile(values, part) for part in (0.5, 0.99, 1.0)] == [50.0, 99.0, 100.0]
    assert figures.quantile([7.0], 0.99) == 7.0


def test_rounds_become_medians_with_their_lowest_and_highest() -> None:
    rounds = [{"load": {"rate": rate}} for rate in (3.0, 10.0, 4.0)]
    assert figures.merged(rounds) == {"load": {"rate": {"median": 4.0, "min": 3.0, "max": 10.0}}}


def test_a_target_is_held_against_the_median_and_left_out_where_nothing_was_measured(tmp_path: Path) -> None:
    (tmp_path / "targets.toml").write_text(TARGETS, "utf-8")
    measured = {
        "load": {"rate": {"median": 499.0, "min": 450.0, "max": 800.0}},
        "boot_seconds": {"median": 1.9, "min": 1.0, "max": 3.0},
    }
    assert [(target["name"], target["reached"]) for target in judged(measured, tmp_path / "targets.toml")] == [
        ("jobs a second", False),
        ("boot to ready: s", True),
    ]


@each_case
def test_a_topic_that_only_stands_beside_the_numbers_is_not_what_a_problem_is_about(
    question: str, *, is_about: bool
) -> None:
    problem = WordProblem(question=question, code="", answer=15, topic="penguins")
    assert is_about_topic(problem) is is_about


@pytest.mark.parametrize(("one", "other", "alike"), [("a + b", "b + 7", True), ("a + b", "a - b", False)])
def test_programs_are_alike_if_they_take_the_same_operations(one: str, other: str, *, alike: bool) -> None:
    first, second = (structure_of(f"def solution():\n    a = 3\n    b = 2\n    return {sum_}") for sum_ in (one, other))
    assert (first == second) is alike
