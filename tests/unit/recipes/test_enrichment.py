"""An enriched solution keeps to its source, and what is right is not taken for wrong."""

import pytest

from soliloquy.recipes.soliloquy.answers import Enriched
from soliloquy.recipes.soliloquy.planner import check, faults, one_step_per_line, steps_in
from soliloquy.runtime.answers import Unreadable
from soliloquy.v1.conversation_pb2 import Problem, Step
from tests.cases import each_case

CAR = Problem(
    question="A 1,500 kg car speeds up from rest at 2.40 m/s^2 over 0.5 km. Three friends watch. How fast is it then?",
    solution="Step 1) s = 0.5 × 1000 = 500 m. Step 2) v² = 2 × a × s, so v = √(2 × 2.4 × 500) = 48.99 m/s. "
    "With K = ⅓ m v² or 3.4e5 J at hand it takes 50 / 20 = 2.5 times as long.",
    steps=[Step(number=1, formula="T = t + 273.15")],
)


def enriched(detailed: str, outline: str) -> Enriched:
    return Enriched.model_validate({"Detailed Solution": detailed, "Solution Outline": outline})


def found(*, detailed: str = "Nothing.", outline: str = "Nothing.") -> list[str]:
    return list(faults(enriched(f"Step 1) {detailed}", f"Step 1) {outline}"), CAR))


@each_case
def test_what_the_source_says_in_any_writing_is_no_fault(text: str) -> None:
    assert found(detailed=text) == []


@each_case
def test_a_number_that_is_not_in_the_source_is_named(text: str, named: str) -> None:
    fault, *_ = found(detailed=text)
    assert fault.startswith(f'"Detailed Solution": {named!r} is in neither the question nor the solution')


def test_the_outline_is_held_to_the_source_too() -> None:
    assert any("'77 m' is in neither" in fault for fault in found(outline="Go on for 77 m."))


@each_case
def test_an_outline_may_name_formulas(text: str) -> None:
    assert found(outline=text) == []


@each_case
def test_a_calculation_in_the_outline_is_named(text: str, named: str) -> None:
    assert f'"Solution Outline": {named!r} is a calculation; name what is done' in found(outline=text)


@each_case
def test_steps_are_read_however_they_are_numbered(text: str) -> None:
    assert steps_in(text) == ["First.", "Second, by Step 1)."]
    assert one_step_per_line(text) == "Step 1) First.\nStep 2) Second, by Step 1)."


@pytest.mark.parametrize(
    "text", ["First, then second.", "Step 1) First.", "Step 2) First. Step 1) Second.", "Step 1) a 3) b"]
)
def test_steps_that_are_missing_or_out_of_order_are_told(text: str) -> None:
    right = "Step 1) First. Step 2) Second."
    problem = Problem(steps=[Step(number=1), Step(number=2)])
    for detailed, outline, name in ((text, right, "Detailed Solution"), (right, text, "Solution Outline")):
        [fault] = faults(enriched(detailed, outline), problem)
        assert (
            fault
            == f'"{name}": {len(steps_in(text))} steps are numbered in order; 2 are wanted, "Step 1)" to "Step 2)"'
        )


def test_an_empty_step_is_told() -> None:
    problem = Problem(steps=[Step(number=1), Step(number=2)])
    answer = enriched("Step 1) . Step 2) Second.", "Step 1) First. Step 2) Second.")
    assert list(faults(answer, problem)) == ['"Detailed Solution": step 1 is empty']


def test_a_model_is_told_the_first_few_faults_once_each() -> None:
    answer = enriched("Step 1) 7 m, 7 m, 11 m, 13 m and 17 m", "Step 1) Nothing.")
    with pytest.raises(Unreadable) as told:
        check(answer, CAR)
    assert [number for number in ("7 m", "11 m", "13 m", "17 m") if repr(number) in str(told.value)] == [
        "7 m",
        "11 m",
        "13 m",
    ]
    assert str(told.value).count("'7 m'") == 1
