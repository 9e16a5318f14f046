"""Problems from anywhere go through a recipe, or the recipe says beforehand why it cannot use them."""

import json
from pathlib import Path
from random import Random
from typing import Any

import pytest
from click.testing import CliRunner

from soliloquy.cli.problems.check import check
from soliloquy.problems.files.problem_from_row import problem_from_row
from soliloquy.problems.files.problem_row import ProblemRow
from soliloquy.recipes.mathdial.scripted import planner
from soliloquy.recipes.recipe import find
from soliloquy.recipes.scripted.parsed_prompt import ParsedPrompt
from soliloquy.v1.conversation_pb2 import Problem

ROWS: dict[str, dict[str, Any]] = {
    "given": {
        "question": "Ana has 3 bags of 4 pears. How many pears?",
        "solution": "3 * 4 = 12",
        "answer": {"value": 12},
    },
    "answer alone": {
        "question": "Ana has 3 bags of 4 pears. How many pears?",
        "solution": "The answer is 12.",
        "answer": {"value": 12},
        "steps": [{"explanation": "The answer is 12.", "result": {"symbol": "answer", "value": 12}}],
    },
    "in words": {"question": "Why is the sky blue?", "solution": "Air scatters blue light."},
}


def problem(name: str) -> Problem:
    return problem_from_row(ProblemRow.model_validate_json(json.dumps(ROWS[name])), source="test")


class Known:
    draw = None

    def __init__(self, problem: Problem) -> None:
        self._problem = problem

    def recognise(self, question: str) -> Problem | None:
        return self._problem if question == self._problem.question else None


@pytest.mark.parametrize("name", ["given", "answer alone"])
def test_a_scripted_pupil_solves_a_problem_without_known_quantities(name: str) -> None:
    known = problem(name)
    reading = ParsedPrompt("mathdial/solving", f"<question>{known.question}</question>", Known(known))
    answers = {planner.solve(reading, Random(seed)).splitlines()[-1] for seed in range(20)}
    assert "#### 12" in answers


def test_a_recipe_says_why_a_problem_is_of_no_use() -> None:
    refused = {name: find(name).refuses(problem("in words")) for name in ("mathdial", "scaffold", "soliloquy")}
    assert refused["soliloquy"] == ""
    assert all(refused[name].startswith("no answer") for name in ("mathdial", "scaffold"))
    assert find("mathdial").refuses(problem("given")) == ""


def test_a_check_of_a_file_tells_what_each_recipe_can_use(tmp_path: Path) -> None:
    file = tmp_path / "mine.jsonl"
    file.write_text("\n".join(json.dumps({**ROWS[name], "id": name}) for name in ("given", "in words")), "utf-8")
    lines = CliRunner().invoke(check, [str(file)]).output.splitlines()
    assert "mathdial: 1 of 2 problems are of use; 1 are not: no answer, such as in words" in lines
    assert "soliloquy: 2 of 2 problems are of use" in lines
