"""The rules that a finished conversation must satisfy."""

from collections.abc import Iterator

from socratic_debugging.labels_pb2 import PointsAt, StudentLabels, TutorLabels
from socratic_debugging.program import POLICY
from socratic_debugging.student import OPENING, WRONG
from socratic_debugging.tutor import reply_faults
from soliloquy.recipes import agreement, manners
from soliloquy.recipes.agreement import code_verdict, letter_of
from soliloquy.truth.report import CheckedConversation, CheckedTurn
from soliloquy.v1.conversation_pb2 import Conversation, Ending, Turn

_MANNERS = {
    "length": manners.check_length,
    "words": manners.check_words,
    "speaker": manners.check_speaker,
    "repetition": manners.check_repetition,
}


def review(conversation: Conversation) -> CheckedConversation:
    if conversation.ending != Ending.ENDING_SOLVED:
        reason = conversation.ending_reason or f"not found: {Ending.Name(conversation.ending)}"
        return CheckedConversation(turns=(), faults=[reason])
    return check(conversation)


def check(conversation: Conversation) -> CheckedConversation:
    turns = [_checked(turn) for turn in conversation.turns]
    return CheckedConversation(
        turns=turns, faults=[f"{rule}: turn {n}: {why}" for rule, n, why in _faults(conversation)]
    )


def _faults(conversation: Conversation) -> Iterator[tuple[str, int, str]]:
    for rule, find in _MANNERS.items():
        yield from ((rule, number, why) for number, why in find(conversation, POLICY["talk"]))
    for number, why in agreement.contradictions(conversation, POLICY["agreeing"]):
        yield "contradiction", number, why
    for turn in conversation.turns:
        for rule, why in reply_faults(conversation, turn.tutor.text, turn.number):
            yield rule, turn.number, why


def _checked(turn: Turn) -> CheckedTurn:
    insight, right = StudentLabels.FromString(turn.student.labels).insight, code_verdict(turn.calculation)
    points_at = PointsAt.Name(TutorLabels.FromString(turn.tutor.labels).points_at)
    judged = {"b": True, "a": False}.get(letter_of(turn))
    return CheckedTurn(
        meant_wrong=insight == WRONG if insight > OPENING else None,
        right=right if insight != OPENING else None,
        verdict_true=None if right is None or judged is None else judged == right,
        codes={"evaluation": letter_of(turn), "points at": points_at.removeprefix("POINTS_AT_").lower()},
        message=turn.student.text,
        reply=turn.tutor.text,
    )
