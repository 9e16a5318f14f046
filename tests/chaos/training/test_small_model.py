"""Makes the small model with one command, wherever it was stopped before."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.models import needs_torch

pytestmark = needs_torch

_TOY = ("--conversations=12", "--stream=4", "--steps=3", "--tuning-steps=2", "--questions=1")
_NAMES = ("untrained", "pretrained", "tuned")


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("small")
    _make(folder)
    return folder


def _make(folder: Path) -> None:
    subprocess.run([sys.executable, "-m", "benchmarks.small_model", "--out", str(folder), *_TOY], check=True)


def _report(folder: Path, name: str) -> Any:
    return json.loads((folder / f"evaluation-{name}" / "report.json").read_text("utf-8"))


@pytest.mark.timeout(1800)
def test_all_three_stand_side_by_side_on_the_same_cases(made: Path) -> None:
    assert len({_report(made, name)["cases"]["sha256"] for name in _NAMES}) == 1
    head = next(
        line for line in (made / "comparison.md").read_text("utf-8").splitlines() if line.startswith("| metric")
    )
    assert head == "| metric | untrained | pretrained | tuned |"


@pytest.mark.timeout(1800)
def test_no_question_that_is_put_was_learned(made: Path) -> None:
    from soliloquy_training.source import conversations

    learned = {each.problem.question for data in ("pretraining", "stream") for each in conversations(str(made / data))}
    put = [json.loads(line) for line in (made / "evaluation-tuned" / "cases.jsonl").read_text("utf-8").splitlines()]
    assert put
    assert learned.isdisjoint(case["question"] for case in put)


@pytest.mark.timeout(1800)
def test_a_stage_that_is_done_is_passed_over_and_one_that_is_lost_comes_out_the_same(made: Path) -> None:
    kept = (made / "pretrained" / "model" / "model.safetensors").stat().st_mtime_ns
    judged = (made / "evaluation-tuned" / "cases.jsonl").read_bytes()
    (made / "evaluation-tuned" / "report.json").unlink()
    _make(made)
    assert (made / "pretrained" / "model" / "model.safetensors").stat().st_mtime_ns == kept
    assert (made / "evaluation-tuned" / "cases.jsonl").read_bytes() == judged


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
