"""Segments that people wrote are put to a tutor as they are, and a bad line is named."""

import asyncio
import json
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from soliloquy.cli.main import commands
from soliloquy.problems.bank.bank import load_bank
from soliloquy.recipes.recipe import find
from soliloquy.runtime.failure import Failure
from soliloquy_papers.scaffold.evaluate.evaluation import read_segments
from soliloquy_papers.scaffold.evaluate.evaluator import Evaluator
from soliloquy_papers.scaffold.evaluate.tutors import TUTORS
from soliloquy_services.executor.handler import run
from soliloquy_services.model.engines.scripted import ScriptedEngine
from soliloquy_training.evaluation.recipe_loop import RecipeLoop
from tests.unit.scripted.growing import DESK

BANK = load_bank("arithmetic")
SCRIPTED = ScriptedEngine()
PROBLEM = BANK.family(BANK.names[0]).problem(3)


def segment(**changed: Any) -> dict[str, Any]:
    said = [{"student": PROBLEM.question, "tutor": "Let us begin. What do you know?"}]
    whole = {"question": PROBLEM.question, "answer": PROBLEM.answer.value, "unit": PROBLEM.answer.unit}
    return {**whole, "before": said, "message": "Why is that so?", "state": "question", **changed}


def written(folder: Path, *rows: object) -> Path:
    path = folder / "segments.jsonl"
    path.write_text("".join(f"{json.dumps(row)}\n" for row in rows), "utf-8")
    return path


def test_a_tutor_answers_the_message_at_the_end_of_a_segment(tmp_path: Path) -> None:
    [case] = read_segments(written(tmp_path, segment()), seed=1)
    loop = RecipeLoop(recipe=find("scaffold"), model=SCRIPTED, execute=partial(run, sandbox=DESK))
    evaluator = Evaluator(tutor=lambda one: TUTORS["planned"](one, loop), judge=None, student=SCRIPTED, tries=0)
    result = asyncio.run(evaluator.evaluate(case))
    *_, last = result.dialogue.rounds
    assert (last.student, last.state) == ("Why is that so?", "question")
    assert last.tutor
    assert not result.dialogue.broken
    assert [score.dimension for score in result.scores] == ["adaptive"]


@pytest.mark.parametrize(
    ("rows", "why"),
    [
        ([], "line: List should have at least 1 item"),
        ([segment(), segment(state="bored")], "line.1.state: Input should be 'correct', 'incorrect' or 'question'"),
        ([segment(before=[])], "line.0.before: List should have at least 1 item"),
        ([segment(reply="No.")], "line.0.reply: Extra inputs are not permitted"),
    ],
)
def test_a_line_that_is_no_segment_is_named(tmp_path: Path, rows: list[dict[str, Any]], why: str) -> None:
    path = written(tmp_path, *rows)
    with pytest.raises(Failure) as refused:
        list(read_segments(path, seed=1))
    assert str(refused.value).startswith(f"{path}: {why}")


def test_the_report_says_that_people_wrote_the_segments(tmp_path: Path) -> None:
    out = tmp_path / "out"
    options = ["--dialogues", "1", "--tries", "0", "--segments", str(written(tmp_path, segment(), segment()))]
    done = CliRunner().invoke(commands, ["evaluate", "scaffold", *options, "--out", str(out)])
    assert done.exit_code == 0, done.output
    report = json.loads((out / "report.json").read_text("utf-8"))
    assert report["cases"]["put"].startswith("2 segments of people and 1 dialogues of each pass of")
    assert report["cases"]["segments"] == 2
