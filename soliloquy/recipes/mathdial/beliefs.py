"""When a student gives up its belief: counted from the good reasons it was given, and not left to the model."""

from soliloquy.recipes.mathdial.moves import intent_name
from soliloquy.recipes.mathdial.policy import POLICY
from soliloquy.runtime.seeds import draw
from soliloquy.truth.phrases import is_much_like
from soliloquy.v1.conversation_pb2 import Belief, Conversation


def draw_reasons_wanted(conversation: Conversation) -> int:
    """How many good reasons it takes to change this student's mind."""
    shares = POLICY["belief"]["wanted"]
    choice = draw(conversation.run.seed, conversation.id, "reasons wanted")
    return int(choice.choices(list(shares), list(shares.values()))[0])


def reasons_given(conversation: Conversation) -> int:
    """What the tutor's messages so far are worth; the one that opens the conversation gives no reason."""
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
