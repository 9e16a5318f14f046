"""Runs the MathDial evaluation over hundreds of rule-based students, with the scripted tutor and the baseline."""

import json

import pytest

from soliloquy_papers.mathdial.evaluate.dialogues import next_step
from soliloquy_papers.mathdial.evaluate.figures import CURVES, figures
from tests.unit.papers.mathdial.evaluate.dialogues import drawn, results, tutoring

COUNT = 200


@pytest.mark.timeout(1800)
def test_hundreds_of_students_are_led_to_the_answer_and_seldom_told_it() -> None:
    students = drawn(COUNT, seed=29)
    led, asked = (figures(results(of, students), [], None) for of in (tutoring(), tutoring(next_step())))
    shares = {
        name: [round(led["metrics"][metric]["share"], 3) for metric in metrics] for name, metrics in CURVES.items()
    }
    print(json.dumps(shares | {"own": led["metrics"]["own"]["share"], "measures": led["measures"]}))
    assert led["metrics"]["success@10"]["share"] >= 0.85
    assert led["metrics"]["telling@5"]["share"] <= 0.2
    assert led["broken_off"] <= 0.01 * COUNT
    assert asked["metrics"]["telling@10"]["passed"] == 0
    assert asked["metrics"]["success@10"]["high"] < led["metrics"]["success@10"]["low"]
    for steps, group in led["by_steps"].items():
        assert group["dialogues"] < 20 or group["metrics"]["success@10"]["share"] >= 0.8, steps
