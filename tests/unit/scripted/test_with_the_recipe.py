"""Whole scripted conversations on the problems of the physics bank keep the recipe's rules."""

import asyncio
from functools import cache
from itertools import pairwise

from soliloquy.recipes.check_report import TruthReport
from soliloquy.recipes.learner.evidence import strength
from soliloquy.recipes.soliloquy.labels_pb2 import StepState, StudentLabels, TutorLabels
from soliloquy.recipes.soliloquy.recipe import RECIPE
from soliloquy.recipes.soliloquy.rules import check
from soliloquy.v1.conversation_pb2 import EVALUATION_INCORRECT, Conversation, Intent
from tests.unit.scripted.growing import grown

SEED = 3
COUNT = 24


@cache
def conversations() -> list[Conversation]:
    async def grow() -> list[Conversation]:
        return [await grown(ordinal, seed=SEED) for ordinal in range(COUNT)]

    return asyncio.run(grow())


@cache
def report() -> TruthReport:
    found = TruthReport()
    for conversation in conversations():
        found.add(conversation.id, check(conversation))
    return found


def test_every_conversation_passes_the_recipes_filters() -> None:
    assert {
        conversation.id: RECIPE.faults(conversation) for conversation in conversations() if RECIPE.faults(conversation)
    } == {}


def test_nothing_that_is_said_as_it_was_meant_is_sent_back() -> None:
    sent_back = [rejected for one in conversations() for turn in one.turns for rejected in turn.rejected]
    assert [(rejected.text, rejected.because) for rejected in sent_back] == []


def test_a_student_errs_when_it_is_meant_to_and_only_then() -> None:
    assert report().meant_wrong == report().found_wrong > 6
    assert report().unlike_meant == 0


def test_a_misconception_stays_until_the_tutors_words_speak_against_it() -> None:
    held = corrected = 0
    for conversation in conversations():
        for before, turn in pairwise(conversation.turns):
            was, now = (StudentLabels.FromString(one.student.labels) for one in (before, turn))
            if was.HasField("misconception") and before.tutor.evaluation == EVALUATION_INCORRECT:
                if TutorLabels.FromString(before.tutor.labels).state != StepState.STEP_STATE_IN_PROGRESS:
                    continue
                step = conversation.problem.steps[TutorLabels.FromString(before.tutor.labels).step - 1]
                given = was.misconception.evidence + strength(before.tutor.text, was.misconception, step)
                convinced = given >= was.misconception.evidence_wanted
                assert now.HasField("misconception") != convinced
                held, corrected = held + (not convinced), corrected + convinced
    assert held > 0
    assert corrected > 3


def test_a_wrong_answer_is_the_value_of_the_working_that_the_student_believes_in() -> None:
    for conversation in conversations():
        for turn in conversation.turns:
            labels = StudentLabels.FromString(turn.student.labels)
            assert (turn.student.intent == Intent.INTENT_WRONG) == labels.HasField("misconception")
