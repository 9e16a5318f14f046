"""A kept chat is judged by what its person meant: `tests/integration/chat/journeys` has whole conversations."""

from soliloquy.recipes.soliloquy.truth import assess
from soliloquy.v1.conversation_pb2 import Conversation, StudentReply, Turn
from tests.cases import each_case
from tests.unit.recipes.conversations import problem as car


@each_case
def test_a_kept_chat_is_judged_by_the_number_that_the_person_meant(text: str, right: bool) -> None:
    turn = Turn(number=1, student=StudentReply(text=text))
    [truth] = assess(Conversation(problem=car(), turns=[turn], person=True))
    assert truth.claim.right is right
