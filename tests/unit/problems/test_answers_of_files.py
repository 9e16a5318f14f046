"""Promises of the answers in problem files: the number and the unit that were stated are right, or they are open."""

from pathlib import Path

import pytest

from soliloquy.problems.files.problem_file import problem_faults
from tests.unit.problems.test_problem_file import FIGURE, FORCE, file_of, read_one


def test_a_solution_in_words_leaves_its_answer_open_and_the_check_says_so(tmp_path: Path) -> None:
    words = {"question": "How fast is the stone after 2 s?", "solution": "It falls freely.", "answer": "19.62 m/s"}
    told: list[str] = []
    file = file_of(tmp_path, words, FORCE)
    assert [*problem_faults(file, told.append)] == []
    assert told == [f"{file}:1: no calculation of the solution gives the answer 19.62"]


@pytest.mark.parametrize(
    ("solution", "answer", "value", "unit", "expression"),
    [
        ("2000 * 180 = 360000 J, that is 360 kJ.", "360 kJ", 360, "kJ", "x1 / 1000"),
        ("I = 12 / 100 = 0.12 A", "120 mA", 120, "mA", "I * 1000"),
        ("90 / 1.5 = 60 km/h, so 16.7 m/s", "16.7 m/s", 16.7, "m/s", "x1 / 3.6"),
        ("30 * 200 = 6000 m, which is 6 km", "6 km", 6, "km", "x1 / 1000"),
        ("0.92 * 30 = 27.6 ct", "0.276 €", 0.276, "€", "x1 / 100"),
        ("0.92 * 30 = 27.6 ct", "27.6 ct", 27.6, "ct", "0.92 * 30"),
    ],
)
def test_an_answer_in_another_unit_than_the_last_result_is_a_step_of_its_own(
    tmp_path: Path, solution: str, answer: str, value: float, unit: str, expression: str
) -> None:
    problem = read_one(tmp_path, question=FIGURE, solution=solution, answer=answer)
    last = problem.steps[-1]
    assert (problem.answer.value, problem.answer.unit, last.expression) == (value, unit, expression)
    assert (last.result.value, last.result.unit) == (value, unit)
