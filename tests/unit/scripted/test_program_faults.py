"""Programs and descriptions go wrong as models' do, also about problems as people write them."""

import json
from random import Random

import pytest

from soliloquy.recipes.scene import Scene
from soliloquy.standin.program_faults import FAULTS, miscalculating
from soliloquy.standin.programs import code, description, without_input
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


@pytest.mark.parametrize("fault", FAULTS)
def test_each_fault_changes_one_calculation_and_leaves_the_rest(fault: str) -> None:
    changed = set()
    for seed in range(40):
        pairs = zip(PIPE.splitlines(), miscalculating(PIPE, fault, Random(seed)).splitlines(), strict=True)
        [other] = [other for line, other in pairs if line != other]
        changed.add(other)
    assert changed >= OTHER_LINES[fault]
    assert not any(line.startswith(("student", "is_")) for line in changed)


def test_the_rates_name_each_fault_and_add_up_to_the_published_share() -> None:
    assert set(TABLES["program"]) == set(FAULTS)
    assert sum(TABLES["program"].values()) == pytest.approx(0.031)


def test_a_program_makes_up_an_input_that_its_description_lacks() -> None:
    [step] = [step for step in CART.steps if step.expression][-1:]
    whole = description(step, step.result.value)
    assert "= 1  # assumed" in _program(without_input(whole, Random(2)))
    assert "assumed" not in _program(whole)
