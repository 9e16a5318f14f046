"""`soliloquy evaluate`: a report with its evidence, which a rerun repeats, and reports side by side."""

import json
from pathlib import Path
from typing import Any

import pytest

from tests.e2e.runs import SOLILOQUY, said

FILES = ("report.json", "report.md", "report.svg", "cases.jsonl")


def evaluate(out: Path, *options: str) -> list[str]:
    return [SOLILOQUY, "evaluate", "soliloquy", "--questions", "3", "--seed", "9", "--out", str(out), *options]


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


def test_a_rerun_writes_the_same_files_and_stands_beside_the_first(sound: Path, tmp_path: Path) -> None:
    assert said(evaluate(tmp_path, "--in-flight", "2", "--quiet")).returncode == 0
    for name in FILES:
        assert (tmp_path / name).read_bytes() == (sound / name).read_bytes(), name
    compared = said([SOLILOQUY, "evaluate", "compare", str(sound), str(tmp_path), "--out", str(tmp_path)])
    assert (compared.returncode, compared.stderr) == (0, "")
    assert f"| metric | scripted ({sound}) | scripted ({tmp_path}) |" in (tmp_path / "comparison.md").read_text("utf-8")
    assert (tmp_path / "comparison.svg").exists()
