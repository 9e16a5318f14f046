"""Questions in other words, over every step of the banks."""

from collections.abc import Iterator

import pytest

from soliloquy.problems.bank.bank import bank_names, load_bank
from soliloquy.recipes.scripted.questions import questions_for, rewordings
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


@pytest.mark.parametrize(
    ("question", "clause"),
    [
        ("How fast is the motorcycle in metres per second?", "how fast the motorcycle is in metres per second"),
        ("How many metres is the summit above the start?", "how many metres the summit is above the start"),
        ("How large is the flux?", "how large the flux is"),
        ("What is the distance from one line to the next?", "what the distance from one line to the next is"),
        ("How many seeds is that?", "how many seeds that is"),
    ],
)
def test_the_verb_of_an_indirect_question_stands_behind_its_subject(question: str, clause: str) -> None:
    assert all(clause in asked for asked in rewordings(question))
    assert rewordings(question)


@pytest.mark.parametrize(
    "question",
    [
        "By what angle is the filter turned?",
        "For how many minutes is the pony cart on the move?",
        "How are the forces related to the diameters?",
        "How many percent are that?",
    ],
)
def test_a_question_that_only_its_own_words_can_put_is_not_turned(question: str) -> None:
    assert not rewordings(question)
