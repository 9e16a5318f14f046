"""A program becomes one step for each operation that its result rests on, with units and quantities in words."""

import pytest

from soliloquy.problems.files.prose_solution import steps_from_prose
from soliloquy.problems.mistakes.causes import departure
from soliloquy.problems.solving.step_graph import steps_from_program, steps_from_script, unit_of_name
from soliloquy.programs.terms import CannotTrace
from soliloquy.truth.expressions import parse_expression
from soliloquy.truth.numbers import numbers_in_digits
from tests.cases import each_case


def expressions(*lines: str) -> list[str]:
    return [step.get("expression", "") for step in steps_from_program(code(*lines))]


def code(*lines: str) -> str:
    return "def solution():\n    " + "\n    ".join(lines)


@each_case
def test_every_operation_is_a_step(lines: list[str], steps: list[str]) -> None:
    assert expressions(*lines) == steps


def test_a_step_says_in_words_what_it_works_out_and_in_which_unit() -> None:
    (step, last) = steps_from_program(
        code("price = 12", "# Two dollars go off", "sale_in_dollars = price - 2", "return sale_in_dollars * 3")
    )
    assert step["explanation"] == "Two dollars go off"
    assert step["ask"] == "What do you get for the sale in dollars?"
    assert step["inputs"] == [{"symbol": "price", "name": "price", "value": 12.0, "unit": ""}]
    assert step["result"] == {"symbol": "sale_in_dollars", "name": "sale in dollars", "unit": "dollars", "value": 10.0}
    assert last["explanation"] == "Multiply the sale in dollars by 3."
    assert last["ask"] == "What is the answer to the question, then?"


def test_all_digits_of_large_numbers_stay() -> None:
    last = steps_from_program(code("return 343723 - 172432 - 171290"))[-1]
    assert last["result"]["value"] == 1


def test_a_result_without_a_sign_in_schools_has_its_value() -> None:
    (step,) = steps_from_program(code("return 17 % 5"))
    assert (step["expression"], step["result"]["value"]) == ("", 2)


def test_a_script_gives_the_steps_of_its_variable() -> None:
    assert [step["expression"] for step in steps_from_script("a = 3\nb = a * 2\nc = b - 1", "c")] == ["a * 2", "b - 1"]
    with pytest.raises(CannotTrace):
        steps_from_script("a = 3", "a")
    with pytest.raises(CannotTrace):
        steps_from_script("a = 3 * 2", "b")


def test_a_program_of_more_than_arithmetic_keeps_its_comments() -> None:
    assert steps_from_program("def solution():\n    # Count them\n    return open('x')") == [
        {"explanation": "Count them"}
    ]


@each_case
def test_a_name_says_its_unit_only_plainly(name: str, unit: str) -> None:
    assert unit_of_name(name) == unit


@each_case
def test_a_question_is_a_sentence_of_its_own_and_says_no_number(solution: str, questions: list[str]) -> None:
    assert [step.ask for step in steps_from_prose(solution)] == questions
    assert not any([*numbers_in_digits(question)] for question in questions)


def test_every_number_of_a_long_solution_is_asked_for_in_other_words() -> None:
    asked = [
        step.ask for step in steps_from_prose("\n".join(f"{number} * 3 = {number * 3}" for number in range(2, 14)))
    ]
    assert len(asked) == len(set(asked)) == 12


@each_case
def test_brackets_roots_and_radians_are_blamed_only_where_they_are_to_blame(right: str, wrong: str, kind: str) -> None:
    assert departure(parse_expression(right).tree, parse_expression(wrong).tree).kind == kind
