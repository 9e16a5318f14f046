"""A conversation that breaks off is checked like any other."""

import pytest

from soliloquy.recipes.scaffold.labels_pb2 import TutorLabels
from soliloquy.recipes.scaffold.reply_rules import count_questions
from soliloquy.recipes.scaffold.rules import check
from soliloquy.recipes.scaffold.states import CORRECT
from tests.cases import each_case
from tests.unit.recipes.scaffold.test_fit import conversation


def test_a_turn_without_a_reply_breaks_no_rule_for_replies() -> None:
    made = conversation("96 pupils", CORRECT)
    made.turns[0].tutor.text = "How many pupils are there?"
    answered = [fault for fault in check(made).faults if "asks exactly one" in fault or "rationale" in fault]
    assert not answered
    assert len(check(made).turns) == 2
    made.turns[1].tutor.text = "Good."
    made.turns[1].tutor.labels = TutorLabels(learner_state=CORRECT).SerializeToString()
    assert any("questions: turn 2" in fault for fault in check(made).faults)


def test_a_conversation_without_a_turn_is_checked() -> None:
    made = conversation("96 pupils", CORRECT)
    del made.turns[:]
    assert not check(made).turns


@each_case
def test_a_request_at_the_end_is_one_question_whatever_it_begins_with(reply: str) -> None:
    assert count_questions(reply) == 1


@pytest.mark.parametrize(
    "reply",
    ["So it is 42.", "First, 6 times 7 is 42.", "So work is force times distance.", "Now think about the other bus."],
)
def test_a_statement_asks_nothing_whatever_it_begins_with(reply: str) -> None:
    assert count_questions(reply) == 0
