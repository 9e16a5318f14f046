"""The count of false verdicts finds each that is planted into conversations without one."""

import asyncio
from collections.abc import Sequence
from copy import deepcopy

import pytest

from benchmarks.drawn_answers import NO_FAULTS, DrawnAnswers, FaultRates
from benchmarks.false_verdicts import play
from benchmarks.known_truth import KnownProblem, known_problems, numbers_in, sent_back, untrue_results, untrue_verdicts
from soliloquy.recipes.recipe import find
from soliloquy.v1.conversation_pb2 import (
    EVALUATION_CORRECT,
    EVALUATION_INCORRECT,
    INTENT_RIGHT,
    INTENT_WRONG,
    Conversation,
    Turn,
)
from soliloquy.v1.runs_pb2 import Run
from tests.unit.scripted.growing import DESK

_PLAYED = 12


Played = tuple[Sequence[KnownProblem], list[Conversation], DrawnAnswers]


def _play(rates: FaultRates) -> Played:
    problems = known_problems("gsm8k", _PLAYED)
    run = Run(id="known", recipe="soliloquy", seed=3, max_turns=20, max_attempts=1)
    return problems, *asyncio.run(play(run, problems, rates, DESK))


@pytest.fixture(scope="module")
def faultless() -> Played:
    return _play(NO_FAULTS)


@pytest.fixture
def played(faultless: Played) -> Played:
    problems, conversations, drawn = faultless
    return problems, deepcopy(conversations), drawn


def _answers(conversation: Conversation, evaluation: int) -> list[Turn]:
    """Returns the turns in which a program checked an answer and the tutor gave this verdict."""
    return [
        turn
        for turn in conversation.turns
        if turn.tutor.evaluation == evaluation and turn.HasField("calculation") and [*numbers_in(turn.student.text)]
    ]


def test_a_run_without_faults_has_no_false_verdict(played: Played) -> None:
    problems, conversations, drawn = played
    for known, conversation in zip(problems, conversations, strict=True):
        assert find("soliloquy").faults(conversation) == []
        assert [*untrue_verdicts(conversation, known, drawn)] == []
        assert [*untrue_results(conversation, known)] == []
        assert [*sent_back(conversation, known, drawn)] == []


@pytest.mark.parametrize("evaluation", [EVALUATION_CORRECT, EVALUATION_INCORRECT])
def test_every_verdict_that_is_turned_round_is_counted(played: Played, evaluation: int) -> None:
    problems, conversations, drawn = played
    turned = 0
    for known, conversation in zip(problems, conversations, strict=True):
        for turn in _answers(conversation, evaluation):
            planted = deepcopy(conversation)
            other = EVALUATION_INCORRECT if evaluation == EVALUATION_CORRECT else EVALUATION_CORRECT
            planted.turns[turn.number - 1].tutor.evaluation = other
            [found] = untrue_verdicts(planted, known, drawn)
            assert f"turn {turn.number}:" in found
            turned += 1
    assert turned > 2


def test_a_result_that_only_a_wrong_program_came_to_is_counted_once_it_is_told(played: Played) -> None:
    problems, conversations, _ = played
    for known, conversation in zip(problems, conversations, strict=True):
        turn = _answers(conversation, EVALUATION_CORRECT)[0]
        result = next(one.value for one in turn.calculation.attempts[-1].execution.values if not one.value.boolean)
        result.real = 7777.5
        assert [*untrue_results(conversation, known)] == []
        turn.tutor.text += " So it comes to 7777.5."
        [found] = untrue_results(conversation, known)
        assert "7777.5" in found


def test_a_right_answer_that_went_back_is_counted_and_a_wrong_one_is_not(played: Played) -> None:
    problems, conversations, drawn = played
    counted = {INTENT_RIGHT: 0, INTENT_WRONG: 0}
    for known, conversation in zip(problems, conversations, strict=True):
        for turn in _answers(conversation, EVALUATION_CORRECT) + _answers(conversation, EVALUATION_INCORRECT):
            calls = [place for place, call in enumerate(turn.calls) if call.prompt == "soliloquy/student"]
            turn.rejected.add(role="student", rule="drawn", text=turn.student.text, because="it is wrong", calls=calls)
            counted[turn.student.intent] += len([*sent_back(conversation, known, drawn)])
            del turn.rejected[:]
    assert counted[INTENT_RIGHT] > 10
    assert counted[INTENT_WRONG] == 0


def test_faults_are_drawn_at_the_rates_that_are_given() -> None:
    _, _, drawn = _play(FaultRates(programs=1, descriptions=1, contradicted=1, students=1))
    assert all(drawn.faults[kind] > _PLAYED for kind in ("programs", "descriptions", "verdicts", "students"))
