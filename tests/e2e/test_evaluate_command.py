"""`soliloquy evaluate`: a report with its evidence, which a rerun repeats, and reports side by side."""

import json
from pathlib import Path
from typing import Any

import pytest

from tests.e2e.runs import SOLILOQUY, said


def evaluate(out: Path, *options: str, questions: int = 3) -> list[str]:
    cases = ("--questions", str(questions), "--seed", "9")
    return [SOLILOQUY, "evaluate", "soliloquy", *cases, "--out", str(out), *options]


@pytest.fixture(scope="module")
def sound(tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("evaluated") / "sound"
    result = said(evaluate(out))
    assert result.returncode == 0, result.stderr
    assert "calculation verification" in result.stdout
    return out


def test_the_report_has_the_figures_with_their_intervals_and_every_case(sound: Path) -> None:
    made: dict[str, Any] = json.loads((sound / "report.json").read_bytes())
    metrics = made["figures"]["metrics"]
    assert {name: (share["passed"], share["of"]) for name, share in metrics.items()} == {
        "usage": (6, 6),
        "non_usage": (3, 3),
        "compilation": (6, 6),
        "verification": (6, 6),
    }
    assert 0.6 < metrics["verification"]["low"] < 0.7
    assert (made["model"], made["cases"]["questions"]) == ({"model": "scripted"}, 3)
    assert (sound / "cases.jsonl").read_text("utf-8").count("\n") == 9
    assert (sound / "report.svg").read_text("utf-8").startswith("<?xml")
    assert "Missed: 0 of 9 cases" in (sound / "report.md").read_text("utf-8")


@pytest.mark.thorough
def test_three_tutors_of_known_strength_are_ranked_right_and_their_intervals_do_not_meet(tmp_path: Path) -> None:
    verification = []
    for noise in ("none", "real", "harsh"):
        result = said(evaluate(tmp_path / noise, "--noise", noise, "--quiet", questions=67))
        assert result.returncode == 0, result.stderr
        report = json.loads((tmp_path / noise / "report.json").read_bytes())
        assert (tmp_path / noise / "cases.jsonl").read_text("utf-8").count("\n") == 201
        verification.append(report["figures"]["metrics"]["verification"])
    best, middle, worst = verification
    assert best["low"] > middle["high"]
    assert middle["low"] > worst["high"]
