"""The teacher's seat: a person follows the plan, and rules assess what each of the student's messages shows."""

from collections.abc import Sequence

from soliloquy.recipes.scaffold import rules, student
from soliloquy.recipes.scaffold.memory import questions
from soliloquy.recipes.scaffold.policy import POLICY
from soliloquy.recipes.seat import Seat
from soliloquy.runtime.files import table_beside
from soliloquy.v1.conversation_pb2 import Conversation

_BOUNDS = table_beside(__file__, "seat.toml")


def _warnings(conversation: Conversation) -> Sequence[str]:
    """Tells the rules that a reply with nothing but words can break."""
    found = rules.RULES.broken(conversation, ["revealed"], 1)
    return [f"{rules.RULES.says(one.rule, '')}: {one.evidence}." for one in found]


SEAT = Seat(
    moves={},
    most_turns=POLICY["talk"]["most_turns"],
    most_minutes=_BOUNDS["most_minutes"],
    questionnaire=_BOUNDS["questionnaire"],
    plan=lambda conversation: [f"{one.question} {one.answer}" for one in questions(conversation)],
    calculates=True,
    record_reply=lambda conversation, text, move: student.record_reply(conversation, text),
    warnings=_warnings,
)
