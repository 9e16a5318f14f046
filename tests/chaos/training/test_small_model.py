"""Makes the small model with one command, wherever it was stopped before."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.models import needs_torch

pytestmark = needs_torch

_TOY = ("--conversations=4", "--conversations=8", "--max-steps=2", "--questions=1", "--play=1")
_NAMES = ("base", "tuned-4", "tuned-8")


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    from benchmarks.random_weights import make_base

    folder = tmp_path_factory.mktemp("small")
    make_base(folder / "random", "nano")
    _make(folder)
    return folder


def _make(folder: Path) -> None:
    command = [sys.executable, "-m", "benchmarks.small_model", "--out", str(folder), "--base", str(folder / "random")]
    subprocess.run([*command, *_TOY], check=True)


def _report(folder: Path, name: str) -> Any:
    return json.loads((folder / f"evaluation-{name}" / "report.json").read_text("utf-8"))


@pytest.mark.timeout(1800)
def test_base_and_tuned_stand_side_by_side_on_the_same_cases(made: Path) -> None:
    assert len({_report(made, name)["cases"]["sha256"] for name in _NAMES}) == 1
    head = next(
        line
        for line in (made / "comparison" / "comparison.md").read_text("utf-8").splitlines()
        if line.startswith("| metric")
    )
    assert head == "| metric | base | tuned-4 | tuned-8 |"


@pytest.mark.timeout(1800)
def test_no_question_is_of_a_topic_that_was_learned(made: Path) -> None:
    from soliloquy_training.source import conversations

    learned = {each.problem.topic for each in conversations(str(made / "conversations-8"))}
    put = [json.loads(line) for line in (made / "asked.jsonl").read_text("utf-8").splitlines()]
    assert put
    assert learned.isdisjoint(problem["topic"] for problem in put)


@pytest.mark.timeout(1800)
def test_base_and_tuned_play_the_tutor_beside_the_scripted_student(made: Path) -> None:
    for name in ("base", "tuned-8"):
        counts = json.loads((made / f"played-{name}" / "manifest.json").read_bytes())["counts"]
        assert counts["accepted"] + counts["rejected"] >= 1


@pytest.mark.timeout(1800)
def test_a_stage_that_is_done_is_passed_over_and_one_that_is_lost_comes_out_the_same(made: Path) -> None:
    kept = (made / "tuned-4" / "adapter" / "adapter_model.safetensors").stat().st_mtime_ns
    judged = (made / "evaluation-tuned-4" / "cases.jsonl").read_bytes()
    (made / "evaluation-tuned-4" / "report.json").unlink()
    _make(made)
    assert (made / "tuned-4" / "adapter" / "adapter_model.safetensors").stat().st_mtime_ns == kept
    assert (made / "evaluation-tuned-4" / "cases.jsonl").read_bytes() == judged


@pytest.mark.timeout(1800)
def test_a_small_writer_that_knows_nothing_yet_is_told_that_it_has_nothing_to_learn_from(tmp_path: Path) -> None:
    toy = ("--problems=12", "--steps=3", "--rounds=1", "--per-round=2")
    for _ in range(2):
        subprocess.run(
            [sys.executable, "-m", "benchmarks.small_model.problems", "--out", str(tmp_path), *toy], check=True
        )
    told = json.loads((tmp_path / "rounds" / "rounds.json").read_text("utf-8"))
    assert [one["figures"]["kept"] for one in told["rounds"]] == [0]
    assert told["ended"].startswith("no problems were kept to learn from")
