"""Questions in other words, over every step of the banks."""

from collections.abc import Iterator

from soliloquy.problems.bank.bank import bank_names, load_bank
from soliloquy.recipes.scripted.questions import questions_for
from soliloquy.truth.units import measured
from soliloquy.v1.conversation_pb2 import Problem, Step


def _steps() -> Iterator[tuple[Step, Problem]]:
    for bank in bank_names():
        families = load_bank(bank)
        problems = (families.family(name).problem(7) for name in families.names)
        yield from ((step, problem) for problem in problems for step in problem.steps)


def test_nobody_asks_for_points_in_points() -> None:
    counted = [(step, problem) for step, problem in _steps() if step.result.unit and not measured(step.result.unit)]
    assert counted
    for step, problem in counted:
        assert [asked for asked in questions_for(step, problem)[1:] if f", in {step.result.unit}" in asked] == []
