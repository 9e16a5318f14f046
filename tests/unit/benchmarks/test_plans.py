"""Labelled plans are accepted, and no planted wrong sub-answer is."""

from pathlib import Path

import pytest

from benchmarks import planted
from benchmarks.labelled import total
from benchmarks.plans import SETS, count_steps, judge
from tests.cases import each_case


# Two wrong sub-answers belong to a step that states a fraction without a calculation: a verifier decides of them.
@pytest.mark.parametrize(("name", "count", "undecided"), [("unseen", 50, 0), ("varied", 75, 2)])
def test_right_plans_are_accepted_and_wrong_sub_answers_are_not(name: str, count: int, undecided: int) -> None:
    readings = total(judge(SETS[name]).values())
    assert readings.counts["plans"] == count
    assert readings.counts["wrong sub-answers"] == 3 * count
    # In the third set people write "Ten of the fourteen" and "40 % of 3,750 dollars".
    assert readings.counts["accepted"] >= (0.93 if name == "varied" else 0.95) * count, readings.faults
    assert readings.counts["wrong ones accepted"] <= undecided, readings.faults


def test_a_program_with_a_dead_operation_does_not_count_as_read(tmp_path: Path) -> None:
    table = tmp_path / "programs.csv"
    lines = ["def solution():", "    a = 2 * 3", "    b = a * 9", "    return a + 1"]
    table.write_text('solution\n"' + "\n".join(lines) + '"\n"' + "\n".join([*lines[:2], lines[3]]) + '"\n', "utf-8")
    (readings,) = count_steps(table).values()
    assert readings.counts == {"programs": 2, "as many steps as operations": 1}


@each_case
def test_hardly_a_rule_refuses_a_right_plan_and_few_planted_faults_pass(
    name: str, rejections: dict[str, int], acceptances: dict[str, int]
) -> None:
    found = planted.judge(SETS[name])
    for rule, readings in found.items():
        assert readings.counts["false rejections"] <= rejections.get(rule, 0), readings.faults
        assert readings.counts["found"] > 0, rule
        assert readings.counts["false acceptances"] <= acceptances.get(rule, 0), readings.faults
