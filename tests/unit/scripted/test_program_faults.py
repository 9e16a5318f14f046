"""Programs and descriptions go wrong as models' do, also about problems as people write them."""

import ast
from random import Random

import pytest

from benchmarks.known_truth import known_problems
from soliloquy.recipes.scripted.parsed_prompt import ParsedPrompt
from soliloquy.recipes.scripted.program_faults import FAULTS, miscalculating
from soliloquy.recipes.scripted.programs import code, description, without_input
from soliloquy.v1.conversation_pb2 import Problem, Step
from tests.unit.scripted.problems import CART, Shelf
from tests.unit.scripted.test_noise import TABLES

PIPE = """\
# The π of it

d1 = 4  # width
d2 = 2
v1 = 1.5
v2 = v1 * (d1 / d2) ** 2  # from the areas
minutes = math.sqrt(v2 * 60)
student_minutes = 19
is_correct = math.isclose(student_minutes, minutes, rel_tol=0.01)"""
OTHER_LINES = {
    "other_sign": {"v2 = v1 / (d1 / d2) ** 2", "v2 = v1 * (d1 * d2) ** 2", "minutes = math.sqrt(v2 / 60)"},
    "forgotten_square": {"v2 = v1 * (d1 / d2)"},
    "forgotten_root": {"minutes = v2 * 60"},
    "forgotten_factor": {"v2 = (d1 / d2) ** 2", "v2 = v1", "v2 = v1 * d1 ** 2", "minutes = math.sqrt(v2)"},
    "inverted_ratio": {"v2 = v1 * (d2 / d1) ** 2"},
    "not_converted": {"minutes = math.sqrt(v2)"},
    "converted_twice": {"minutes = math.sqrt(v2 * 60 * 60)"},
    "other_value": {"v2 = d1 * (d1 / d2) ** 2", "minutes = math.sqrt(v1 * 60)"},
    "answer_before": {"v2 = v1", "minutes = math.sqrt(v2)"},
    "misread_input": {"d1 = 40.0", "v1 = 0.15", "minutes = math.sqrt(v2 * 600.0)"},
}


def _described(step: Step, student: float | None = None) -> str:
    return description(step, student, Random(3))


def _program(described: str, seed: int = 1) -> str:
    prompt = ParsedPrompt("soliloquy/use_python", f"<description>{described}</description>", Shelf())
    answer = ast.literal_eval(code(prompt, Random(seed)))
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
    found = {miscalculating(PIPE, fault, Random(seed)) for seed in range(60)}
    changed = set()
    for snippet in found:
        pairs = zip(PIPE.splitlines(), snippet.splitlines(), strict=True)
        [(line, other)] = [(line, other) for line, other in pairs if line != other]
        assert line.partition("#")[2] == other.partition("#")[2]
        changed.add(other.partition("  #")[0])
    assert changed >= OTHER_LINES[fault]
    assert not any(line.startswith(("student", "is_")) for line in changed)


def test_the_rates_name_each_fault_and_add_up_to_the_published_share() -> None:
    assert set(TABLES["program"]) == set(FAULTS)
    assert sum(TABLES["program"].values()) == pytest.approx(0.031)


@pytest.mark.parametrize("form", ["prose", "gsm8k", "mathdial", "answer only"])
def test_programs_about_problems_as_people_write_them_come_to_something_else(form: str) -> None:
    missed, steps = [], _steps(form)
    for at, (problem, step) in enumerate(steps):
        right = _program(_described(step))
        wrong = miscalculating(right, list(FAULTS)[at % len(FAULTS)], Random(at))
        compile(ast.parse(wrong), "<snippet>", "exec")
        if wrong == right:
            missed.append((problem.question, step.number))
    # A division by one, or a single number, has hardly a place for a fault.
    assert len(missed) <= 0.02 * len(steps), missed


def test_a_program_knows_nothing_of_an_input_that_its_description_lacks() -> None:
    [step] = [step for step in CART.steps if step.expression][-1:]
    whole = _described(step, step.result.value)
    described = without_input(whole, Random(2))
    left = [known for known in step.inputs if f"`{known.symbol}` ({known.name}) =" in described]
    assert len(left) == len(step.inputs) - 1
    assert "= 1  # assumed" in _program(described)
    assert "assumed" not in _program(whole)


def test_a_description_without_a_list_of_inputs_lacks_an_operand() -> None:
    _, step = next(found for found in _steps("gsm8k") if not found[1].inputs and "*" in found[1].expression)
    assert _result(_described(step)) == pytest.approx(step.result.value)
    assert _result(without_input(_described(step), Random(1))) != pytest.approx(step.result.value)
