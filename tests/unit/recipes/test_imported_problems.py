"""Problems from anywhere go through a recipe, or the recipe says beforehand why it cannot use them."""

import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from soliloquy.cli.problems.files import check
from soliloquy.problems.files.problem_from_row import problem_from_row
from soliloquy.problems.files.problem_row import ProblemRow
from soliloquy.recipes.recipe import find
from soliloquy.runs.plan import NoneUsable, problems_of
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


def test_a_recipe_says_why_a_problem_is_of_no_use() -> None:
    refused = {name: find(name).refuses(problem("in words")) for name in ("mathdial", "scaffold", "soliloquy")}
    assert refused["soliloquy"] == ""
    assert all(refused[name].startswith("no answer") for name in ("mathdial", "scaffold"))
    assert find("mathdial").refuses(problem("given")) == ""


def file_of(folder: Path, *names: str) -> str:
    file = folder / "mine.jsonl"
    file.write_text("\n".join(json.dumps({**ROWS[name], "id": name}) for name in names), "utf-8")
    return str(file)


def test_a_run_works_with_the_usable_problems_of_a_file_and_tells_how_many_are_not(tmp_path: Path) -> None:
    told = list[str]()
    source = problems_of(file_of(tmp_path, "given", "in words"), "scaffold", tell=told.append)
    assert [source.problem(1, ordinal).id for ordinal in range(2)] == ["given", "given"]
    assert told == ["scaffold: 1 of 2 problems are of use; 1 is not: no answer, such as mine.jsonl:2"]


def test_a_recipe_that_writes_problems_tells_what_the_given_ones_are_for() -> None:
    told = list[str]()
    problems_of("physics", "mathwell", tell=told.append)
    assert told == ["mathwell writes its own problems: those of physics are only examples in its prompts"]


def test_a_run_without_usable_problems_does_not_start(tmp_path: Path) -> None:
    with pytest.raises(NoneUsable, match=r"recipe mathdial .*0 of 1 .*no answer, such as mine\.jsonl:1"):
        problems_of(file_of(tmp_path, "in words"), "mathdial")


def test_a_check_of_a_file_tells_what_each_recipe_can_use(tmp_path: Path) -> None:
    lines = CliRunner().invoke(check, [file_of(tmp_path, "given", "in words")]).output.splitlines()
    assert "mathdial: 1 of 2 problems are of use; 1 is not: no answer, such as mine.jsonl:2" in lines
    assert "soliloquy: 2 of 2 problems are of use" in lines


def test_a_check_foresees_where_the_scripted_pupils_make_no_mistake(tmp_path: Path) -> None:
    refused = {}
    for name in ("given", "answer alone"):
        result = CliRunner().invoke(check, [file_of(tmp_path, name, "in words"), "--json"])
        refused[name] = json.loads(result.output)["refused"]
    assert list(refused["given"]["mathdial"]) == list(refused["answer alone"]["mathdial"]) == ["mine.jsonl:2"]
    # Another model may be wrong there.
    why = refused["answer alone"]["mathdial, scripted model"]["mine.jsonl:1"]
    assert why == "no mistake is known that a pupil would hand in"
    assert refused["answer alone"]["soliloquy"] == {}
