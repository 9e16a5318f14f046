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
from soliloquy.recipes.scaffold.answers import PlanAnswer
from soliloquy.recipes.scaffold.plan_rules import faults
from soliloquy.recipes.scaffold.scripted import planner as scaffold_planner
from soliloquy.recipes.scripted.parsed_prompt import ParsedPrompt
from soliloquy.recipes.soliloquy.scripted.steps import stated_digits
from soliloquy.runs.plan import NoneUsable, problems_of
from soliloquy.v1.conversation_pb2 import Problem, Quantity

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


# Solutions as people write them: words before the numbers, comments behind them, one letter for many quantities.
PROSE = {
    "comments behind the answer": "Step 1) The weight is balanced by the rope. Step 2) F = 20 * 9.8 = 196 N. "
    "Step 3) So the rope has to hold that much. Step 4) A thin string would tear. Step 5) A rope of steel would not.",
    "words before the answer": "Step 1) It moves evenly. Step 2) No net force acts then. Step 3) The rope pulls up. "
    "Step 4) Gravity pulls down. Step 5) Both are the same size: F = 20 * 9.8 = 196 N.",
    "one letter, several times": "Step 1) t = 60 / 20 = 3 s. Step 2) v = 3 * 9.8 = 29.4 m/s. "
    "Step 3) t = 100 / 20 = 5 s. Step 4) v = 5 * 9.8 = 49 m/s.",
    "a power of ten": "Step 1) P = 4 * 2500 = 10 x 10^3 W. Step 2) The motor runs for an hour. "
    "Step 3) E = 10000 * 3600 = 3.6 x 10^7 J.",
    "one step": "F = 20 * 9.8 = 196 N",
    "nine steps": " ".join(f"Step {number}) {number} * 3 = {number * 3} m." for number in range(1, 10)),
}


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


def test_the_scripted_planner_finds_a_calculation_in_nested_brackets() -> None:
    known = problem("given")
    pupil = "1. Ana has ((3 + (2 * 4))) * 4 = 44 pears in all."
    prompt = f"<question>{known.question}</question><pupil>{pupil}</pupil>"
    answer = planner.describe(ParsedPrompt("mathdial/describing", prompt, Known(known)), Random(1))
    assert "4 = 44" in json.loads(answer)["Confusion"]


@pytest.mark.parametrize(
    ("value", "unit", "digits"), [(187.96, "", 5), (12345, "apples", 5), (4.5, "$", 3), (9.80665, "m/s^2", 3)]
)
def test_a_scripted_student_rounds_what_is_measured_and_nothing_else(value: float, unit: str, digits: int) -> None:
    assert min(stated_digits(Quantity(value=value, unit=unit))) == digits


def test_a_recipe_says_why_a_problem_is_of_no_use() -> None:
    refused = {name: find(name).refuses(problem("in words")) for name in ("mathdial", "scaffold", "soliloquy")}
    assert refused["soliloquy"] == ""
    assert all(refused[name].startswith("no answer") for name in ("mathdial", "scaffold"))
    assert find("mathdial").refuses(problem("given")) == ""


@pytest.mark.parametrize("name", PROSE)
async def test_the_scripted_planner_follows_any_solution_that_scaffold_does_not_refuse(name: str) -> None:
    known = problem_from_row(ProblemRow(question="How strong is it in the end?", solution=PROSE[name]), source="test")
    assert find("scaffold").refuses(known) == ""
    for seed in range(20):
        answer = scaffold_planner.plan(
            ParsedPrompt("scaffold/planning", f"<question>{known.question}</question>", Known(known)), Random(seed)
        )
        broken = {rule for rule, _ in faults(PlanAnswer.model_validate_json(answer).plan, known)}
        # The mistakes that it makes on purpose.
        assert broken <= {"last", "contradiction", "given_away", "uncovered", "count"}, seed
        if not broken:
            return
    raise AssertionError("no plan of 20 breaks no rule")


def file_of(folder: Path, *names: str) -> str:
    file = folder / "mine.jsonl"
    file.write_text("\n".join(json.dumps({**ROWS[name], "id": name}) for name in names), "utf-8")
    return str(file)


def test_a_run_works_with_the_usable_problems_of_a_file_and_tells_how_many_are_not(tmp_path: Path) -> None:
    told = list[str]()
    source = problems_of(file_of(tmp_path, "given", "in words"), "scaffold", tell=told.append)
    assert [source.problem(1, ordinal).id for ordinal in range(2)] == ["given", "given"]
    assert told == ["scaffold: 1 of 2 problems are of use; 1 is not: no answer, such as mine.jsonl:2"]


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
    assert why.startswith("no sample is wrong: ")
    assert refused["answer alone"]["soliloquy"] == {}
