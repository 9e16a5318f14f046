"""Rules are measured against people, by the figures of scikit-learn."""

from collections.abc import Sequence
from copy import deepcopy

import numpy as np
import pytest
from sklearn.metrics import cohen_kappa_score, precision_score, recall_score

from soliloquy.annotation.calibration import ANY, calibrate
from soliloquy.annotation.measured import Measured
from soliloquy.runtime.failure import Failure
from soliloquy.v1.conversation_pb2 import EVALUATION_CORRECT, EVALUATION_INCORRECT, Conversation, HumanLabel
from tests.unit.training.growing import conversations


def labelled(value: str) -> HumanLabel:
    return HumanLabel(scheme="soliloquy", question="verification", value=value, annotators=2, agreeing=2)


@pytest.fixture(scope="module")
def judged() -> Sequence[Conversation]:
    """Returns conversations of which every second has false verdicts; people miss one, and see one that is none."""
    changed = [deepcopy(one) for one in conversations(6)]
    for place, conversation in enumerate(changed):
        for turn in conversation.turns:
            is_false = place % 2 == 0 and turn.tutor.evaluation == EVALUATION_CORRECT
            if is_false:
                turn.tutor.evaluation = EVALUATION_INCORRECT
            turn.human_labels.append(labelled("no" if is_false else "yes"))
    for place in (0, 1):
        turn = changed[place].turns[2]
        turn.human_labels[0].value = {"yes": "no", "no": "yes"}[turn.human_labels[0].value]
    return changed


def test_a_rule_is_measured_against_people_turn_by_turn(judged: Sequence[Conversation]) -> None:
    found = {one.judge: one for one in calibrate(judged, "soliloquy", "verification", "no")}
    assert {*found} > {ANY, "verdict"}
    verdict = found["verdict"]
    assert len(verdict.met) == sum(len(one.turns) for one in judged)
    assert verdict.precision.value == pytest.approx(precision_score(verdict.met, verdict.said))
    assert verdict.recall.value == pytest.approx(recall_score(verdict.met, verdict.said))
    assert verdict.kappa.value == pytest.approx(cohen_kappa_score(verdict.met, verdict.said))
    missed = verdict.met.sum() - (verdict.met & verdict.said).sum()
    assert (missed, (verdict.said & ~verdict.met).sum()) == (1, 1)
    for one in (verdict.precision, verdict.recall, verdict.kappa):
        assert one.low is not None
        assert one.high is not None
        assert one.value is not None
        assert 0 < one.low < one.value < one.high <= 1


def test_a_label_of_a_conversation_is_compared_with_the_faults_of_all_its_turns(
    judged: Sequence[Conversation],
) -> None:
    whole = [deepcopy(one) for one in judged]
    for place, one in enumerate(whole):
        one.human_labels.append(labelled("no" if place % 2 == 0 else "yes"))
        for turn in one.turns:
            turn.ClearField("human_labels")
    [verdict] = [one for one in calibrate(whole, "soliloquy", "verification", "no") if one.judge == "verdict"]
    assert (len(verdict.met), verdict.precision.value, verdict.recall.value) == (6, 1, 1)


def test_a_question_that_nobody_answered_is_refused_with_those_that_are_answered(
    judged: Sequence[Conversation],
) -> None:
    with pytest.raises(Failure, match="nobody answered usage of soliloquy: there are verification of soliloquy"):
        calibrate(judged, "soliloquy", "usage", "no")


def test_a_judge_that_never_says_yes_has_no_precision() -> None:
    met, said = np.array([True, False]), np.array([False, False])
    found = Measured(subject="all", judge="silent", met=met, said=said).as_json()
    assert (found["precision"]["value"], found["recall"]["value"]) == (None, 0)
