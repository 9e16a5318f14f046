"""A conversation that breaks off is checked like any other."""

from soliloquy.recipes.scaffold.labels_pb2 import TutorLabels
from soliloquy.recipes.scaffold.rules import check
from soliloquy.recipes.scaffold.states import CORRECT
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
