"""The student's belief: counted from the good reasons that the tutor gave, not left to the model."""

from soliloquy.recipes.mathdial.labels_pb2 import Belief
from soliloquy.recipes.mathdial.moves import intent_name
from soliloquy.recipes.mathdial.policy import POLICY
from soliloquy.runtime.seeds import draw
from soliloquy.truth.phrases import is_much_like
from soliloquy.v1.conversation_pb2 import Conversation


def draw_reasons_wanted(conversation: Conversation) -> int:
    """Draws the number of good reasons that change this student's mind."""
    shares = POLICY["belief"]["wanted"]
    choice = draw(conversation.run.seed, conversation.id, "reasons wanted")
    return int(choice.choices(list(shares), list(shares.values()))[0])


def reasons_given(conversation: Conversation) -> int:
    """Sums the worth of the tutor's messages so far; a repeated message is worth nothing."""
    given, said = 0, list[str]()
    for turn in conversation.turns:
        reply = turn.tutor
        if not any(is_much_like(reply.text, before, POLICY["talk"]["same_words"]) for before in said):
            given += POLICY["reasons"].get(intent_name(reply), 0)
        said.append(reply.text)
    return given


def belief_after(reasons: int, wanted: int) -> Belief:
    if reasons >= wanted:
        return Belief.BELIEF_GIVEN_UP
    return Belief.BELIEF_DOUBTED if reasons >= wanted - POLICY["belief"]["doubting_before"] else Belief.BELIEF_HELD
