"""Programs and descriptions go wrong as models' do, also about problems as people write them."""

import ast
import json
from random import Random

import pytest

from benchmarks.known_truth import known_problems
from soliloquy.recipes.scene import Scene
from soliloquy.standin.program_faults import FAULTS, miscalculating
from soliloquy.standin.programs import code, description, without_input
from soliloquy.v1.conversation_pb2 import Problem, Step
from soliloquy.v1.model_pb2 import Record
from tests.unit.scripted.problems import CART
from tests.unit.scripted.test_noise import TABLES

PIPE = """\
d1 = 4
v2 = 1.5 * (d1 / 2) ** 2
minutes = math.sqrt(v2 * 60)
student_minutes = 19
is_correct = math.isclose(student_minutes, minutes, rel_tol=0.01)"""
OTHER_LINES = {
    "other_sign": {"v2 = 1.5 / (d1 / 2) ** 2", "v2 = 1.5 * (d1 * 2) ** 2"},
    "forgotten_power": {"v2 = 1.5 * (d1 / 2)", "minutes = v2 * 60"},
    "forgotten_factor": {"v2 = (d1 / 2) ** 2", "v2 = 1.5", "v2 = 1.5 * d1 ** 2"},
    "not_converted": {"minutes = math.sqrt(v2)"},
    "converted_twice": {"minutes = math.sqrt(v2 * 60 * 60)"},
    "other_value": {"minutes = math.sqrt(d1 * 60)"},
    "answer_before": {"v2 = 1.5 * d1 ** 2", "minutes = math.sqrt(v2)"},
    "inverted_ratio": {"v2 = 1.5 * (2 / d1) ** 2"},
    "misread_input": {"d1 = 40.0", "v2 = 0.15 * (d1 / 2) ** 2"},
}


def _program(described: str) -> str:
    scene = Scene(prompt="soliloquy/use_python", record=Record(slots={"description": described}))
    answer = json.loads(code(scene, Random(1)))
    return str(answer["Python"]["Python Code"]).removeprefix("```python\n").removesuffix("\n```")


def _result(described: str) -> object:
    variables: dict[str, object] = {}
    exec(compile(ast.parse(_program(described)), "<snippet>", "exec"), variables)
    return [*variables.values()][-1]


def _steps(form: str) -> list[tuple[Problem, Step]]:
    return [
        (one.problem, step) for one in known_problems(form) for step in one.problem.steps if step.HasField("result")
    ]


@pytest.mark.parametrize("fault", FAULTS)
def test_each_fault_changes_one_calculation_and_leaves_the_rest(fault: str) -> None:
    changed = set()
    for seed in range(60):
        pairs = zip(PIPE.splitlines(), miscalculating(PIPE, fault, Random(seed)).splitlines(), strict=True)
        [other] = [other for line, other in pairs if line != other]
        changed.add(other)
    assert changed >= OTHER_LINES[fault]
    assert not any(line.startswith(("student", "is_")) for line in changed)


def test_the_rates_name_each_fault_and_add_up_to_the_published_share() -> None:
    assert set(TABLES["program"]) == set(FAULTS)
    assert sum(TABLES["program"].values()) == pytest.approx(0.031)


@pytest.mark.parametrize("form", ["prose", "gsm8k", "mathdial", "answer only"])
def test_programs_about_problems_as_people_write_them_come_to_something_else(form: str) -> None:
    missed, steps = [], _steps(form)
    for at, (problem, step) in enumerate(steps):
        right = _program(description(step, None))
        wrong = miscalculating(right, list(FAULTS)[at % len(FAULTS)], Random(at))
        compile(ast.parse(wrong), "<snippet>", "exec")
        if wrong == right:
            missed.append((problem.question, step.number))
    # A division by one, or a single number, has hardly a place for a fault.
    assert len(missed) <= 0.02 * len(steps), missed


def test_a_program_makes_up_an_input_that_its_description_lacks() -> None:
    [step] = [step for step in CART.steps if step.expression][-1:]
    whole = description(step, step.result.value)
    assert "= 1  # assumed" in _program(without_input(whole, Random(2)))
    assert "assumed" not in _program(whole)


def test_a_description_without_inputs_lacks_an_operand() -> None:
    _, step = next(found for found in _steps("gsm8k") if not found[1].inputs and "*" in found[1].expression)
    assert _result(description(step, None)) == pytest.approx(step.result.value)
    assert _result(without_input(description(step, None), Random(1))) != pytest.approx(step.result.value)
