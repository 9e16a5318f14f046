"""Intervals, and reports of the same cases side by side."""

import json
from dataclasses import replace
from pathlib import Path

import pytest

from soliloquy.annotation.intervals import wilson
from soliloquy.runtime.failure import Failure
from soliloquy_training.evaluation.cases import share_of
from soliloquy_training.evaluation.comparison import page as comparison
from soliloquy_training.evaluation.comparison import read
from soliloquy_training.evaluation.picture import draw
from soliloquy_training.evaluation.report import format_share
from tests.markdown import HOSTILE, SHOWN, structure, words
from tests.unit.papers.soliloquy.evaluate.cases import NOISY, SCRIPTED, drawn, results, shared_cases
from tests.unit.training.evaluation.evaluations import written


# From the tables of R's `binom.confint(.., method = "wilson")`.
@pytest.mark.parametrize(
    ("passed", "of", "low", "high"), [(44, 50, 0.7620, 0.9438), (50, 50, 0.9287, 1.0), (0, 10, 0.0, 0.2775)]
)
def test_intervals_are_wilsons(passed: int, of: int, low: float, high: float) -> None:
    assert list(wilson(passed, of)) == pytest.approx([low, high], abs=5e-4)


def test_a_share_of_nothing_is_no_share() -> None:
    share = share_of([])
    assert (share["share"], share["low"], share["high"]) == (None, 0.0, 1.0)
    assert format_share(share) == "no case"


def test_the_table_says_how_many_cases_only_one_of_two_models_passed(tmp_path: Path) -> None:
    sound, noisy = results(SCRIPTED), results(NOISY)
    folders = [
        written(tmp_path / "a", "base", shared_cases(), sound),
        written(tmp_path / "b", "tuned", shared_cases(), noisy),
    ]
    missed = sum(not result.passed.get("verification", True) for result in noisy)
    assert missed > 0
    lines = "\n".join(comparison(read(folders))).splitlines()
    assert "| metric | base | tuned | only the one : only the other |" in lines
    [row] = [line for line in lines if line.startswith("| calculation verification")]
    assert row.endswith(f"| {missed} : 0 |")


def test_names_on_a_page_are_texts(tmp_path: Path) -> None:
    pages = {
        name: (written(tmp_path / str(len(name)), name, drawn(2), results(NOISY, drawn(2))) / "report.md").read_text(
            "utf-8"
        )
        for name in ("base", HOSTILE)
    }
    compared = {name: "\n".join(comparison(read([tmp_path / str(len(name))]))) for name in pages}
    for found in (pages, compared):
        assert structure(found[HOSTILE]) == structure(found["base"])
        assert any(SHOWN in text for text in words(found[HOSTILE]))
    draw(tmp_path / "picture.svg", {HOSTILE: json.loads((tmp_path / str(len(HOSTILE)) / "report.json").read_bytes())})
    assert "<script>" not in (tmp_path / "picture.svg").read_text("utf-8")


def test_a_page_lists_each_case_that_was_missed_and_why(tmp_path: Path) -> None:
    found = results(SCRIPTED, drawn(2))
    found[0] = replace(found[0], passed={**found[0].passed, "verification": False})
    text = (written(tmp_path, "base", drawn(2), found) / "report.md").read_text("utf-8")
    case = found[0].case
    line = f"- {case.id} (right, {case.conversation.problem.source}, step {case.step.number}): calculation verification"
    assert f"## Missed: 1 of 6 cases\n\n{line}\n" in text


def test_evaluations_of_other_cases_and_folders_without_one_are_refused(tmp_path: Path) -> None:
    one = written(tmp_path / "one", "base", drawn(2), results(SCRIPTED, drawn(2)))
    other = written(tmp_path / "other", "base", drawn(1), results(SCRIPTED, drawn(1)))
    with pytest.raises(Failure, match="have different cases"):
        read([one, other])
    (one / "report.json").write_text(json.dumps({"name": "base"}), "utf-8")
    for folder in (tmp_path, one):
        with pytest.raises(Failure, match="holds no evaluation"):
            read([folder])
