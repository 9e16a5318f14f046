"""The rules that a finished conversation must satisfy."""

from socratic_debugging.labels_pb2 import TutorLabels
from socratic_debugging.program import POLICY
from socratic_debugging.tutor import reply_faults
from soliloquy.recipes.agreement import code_verdict, letter_of, verdict_is_true, verification
from soliloquy.recipes.check_report import CheckedConversation, CheckedTurn
from soliloquy.recipes.records import fields_of
from soliloquy.recipes.rules import common_rules, faults_of
from soliloquy.v1.conversation_pb2 import Conversation, Intent, Turn


def check(conversation: Conversation) -> CheckedConversation:
    faults = faults_of(conversation, common_rules(POLICY["talk"], POLICY["agreeing"]))
    for turn in conversation.turns:
        broken = reply_faults(conversation, turn, turn.tutor.text)
        faults += [f"{rule}: turn {turn.number}: {evidence}" for rule, evidence in broken]
    turns = list(map(_checked, conversation.turns))
    return CheckedConversation(turns=turns, faults=faults)


def _checked(turn: Turn) -> CheckedTurn:
    intent = turn.student.intent
    right = None if intent == Intent.INTENT_OPENING else code_verdict(turn.calculation)
    points_at = fields_of(TutorLabels.FromString(turn.tutor.labels))["points_at"]
    return CheckedTurn(
        meant_wrong={Intent.INTENT_WRONG: True, Intent.INTENT_RIGHT: False}.get(intent),
        right=right,
        verdict_true=verdict_is_true(turn, right),
        codes={"evaluation": letter_of(turn), "points at": points_at},
        verification=verification(turn, settled=code_verdict(turn.calculation) is not None),
        message=turn.student.text,
        reply=turn.tutor.text,
    )
