"""The recipes mathdial and scaffold, from the command to the dataset and the published rows."""

import json
from pathlib import Path

from tests.e2e.runs import SOLILOQUY, command, grown, records, said


def test_a_run_of_mathdial_goes_out_as_published_rows(tmp_path: Path) -> None:
    out, rows = tmp_path / "out", tmp_path / "rows.jsonl"
    report = grown(out, problems="arithmetic", conversations=2, recipe="mathdial", noise="real")
    assert (report["accepted"], report["failed"], report["verdicts"]["contradict"]) == (2, 0, 0)

    for record in records(out):
        assert record["recipe"] == "mathdial"
        assert record["labels"]["confusion"]["samples"] in range(5, 51, 5)
        assert record["resolution"] in ("solved", "revealed", "unsolved")

    exported = said([SOLILOQUY, "export", str(out), "--format", "mathdial", "--out", str(rows)])
    assert exported.returncode == 0, exported.stderr
    for row in map(json.loads, rows.read_text("utf-8").splitlines()):
        assert row["conversation"].startswith("Teacher: (generic)")
        assert row["student_incorrect_solution"]
        assert row["self-correctness"].startswith(("Yes", "No"))


def test_a_file_without_a_problem_of_use_is_refused_before_the_run(tmp_path: Path) -> None:
    problems, out = tmp_path / "mine.jsonl", tmp_path / "out"
    problems.write_text(json.dumps({"question": "Why is half of a half a quarter?", "solution": "Step 1) Fold it."}))
    result = said(command(out, problems=problems, conversations=1, recipe="mathdial"))
    assert (result.returncode, out.exists()) == (2, False)
    assert result.stderr == (
        "soliloquy: the recipe mathdial cannot work with these problems: 0 of 1 problems are of use; "
        "1 is not: no answer, such as mine.jsonl:1\n"
    )


def test_a_file_that_the_scripted_model_cannot_play_is_refused_before_the_run(tmp_path: Path) -> None:
    problems, out = tmp_path / "mine.jsonl", tmp_path / "out"
    row = {"question": "How many legs has a spider?", "solution": "A spider has eight legs.", "answer": {"value": 8}}
    problems.write_text(json.dumps(row))
    result = said(command(out, problems=problems, conversations=1, recipe="mathdial"))
    assert (result.returncode, out.exists()) == (2, False)
    assert result.stderr == (
        "soliloquy: the scripted model can play none of these problems as mathdial (0 of 1 problems are of use; 1 is "
        "not: no mistake is known that a pupil would hand in, such as mine.jsonl:1): ask another model\n"
    )


def test_a_run_of_scaffold_keeps_the_whole_memory(tmp_path: Path) -> None:
    out = tmp_path / "out"
    report = grown(out, problems="arithmetic", conversations=1, recipe="scaffold", noise="real")
    assert (report["accepted"], report["failed"], report["verdicts"]["contradict"]) == (1, 0, 0)
    for record in records(out):
        assert record["recipe"] == "scaffold"
        assert 2 <= len(record["labels"]["plan"]["questions"]) <= 7
        assert record["turns"][0]["student"]["learner_state"] == "start"
        assert record["turns"][-1]["tutor"]["learner_state"] == "end"
        assert all(record["turns"][-1]["labels"]["solved"])
        ran = [one for turn in record["turns"] for one in turn["soliloquy"]["attempts"] if one["status"] == "ok"]
        assert {one["isolation"].split("-")[0] for one in ran} <= {"gvisor"}
