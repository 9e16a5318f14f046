"""The two replying states: choosing a move, and writing the message that makes it."""

from soliloquy.recipes.answers import TutorMessage
from soliloquy.recipes.claims import record_claims, stated_with
from soliloquy.recipes.judges import Judges
from soliloquy.recipes.mathdial import prompting
from soliloquy.recipes.mathdial.answers import MoveChoice
from soliloquy.recipes.mathdial.claims import holds_answer
from soliloquy.recipes.mathdial.labels_pb2 import TutorLabels
from soliloquy.recipes.mathdial.moves import OPENING
from soliloquy.recipes.mathdial.policy import POLICY
from soliloquy.recipes.outcomes import after_reply
from soliloquy.runtime.ask import Ask
from soliloquy.runtime.events import Outcome
from soliloquy.v1.conversation_pb2 import Conversation, Resolution, TutorReply
from soliloquy.v1.events_pb2 import ReplyNeeded


async def reply(event: ReplyNeeded, ask: Ask, judges: Judges) -> Outcome:
    """Chooses a move, then writes its message; the first message always asks for the student's solution."""
    conversation = event.conversation
    turn = conversation.turns[-1]
    solved = False
    if turn.HasField("student"):
        choice = await ask(prompting.choosing(conversation), MoveChoice)
        evaluation = f"EVALUATION_{choice.evaluation.upper()}"
        turn.tutor.CopyFrom(TutorReply(thoughts=choice.thoughts, evaluation=evaluation))
        turn.tutor.MergeFrom(tutor_move(choice.move, choice.intent))
        solved = choice.solved == "y"
    else:
        turn.tutor.CopyFrom(tutor_move(*OPENING))
    spoken = await ask(prompting.replying(conversation), TutorMessage, stated_with(conversation.problem))
    record_claims(turn.tutor, spoken, conversation.problem)
    resolution = _resolution(conversation) if solved else None
    return after_reply(conversation, resolution, most_turns=POLICY["talk"]["most_turns"])


def tutor_move(move: str, intent: str) -> TutorReply:
    labels = TutorLabels(move=f"MOVE_{move.upper()}", move_intent=f"MOVE_INTENT_{intent.upper()}")
    return TutorReply(labels=labels.SerializeToString())


def _resolution(conversation: Conversation) -> Resolution:
    """Returns whether the student solved the problem itself or after the tutor revealed the answer."""
    said = (turn.tutor.text for turn in conversation.turns[:-1])
    told = any(holds_answer(text, conversation.problem) for text in said)
    return Resolution.RESOLUTION_REVEALED if told else Resolution.RESOLUTION_SOLVED
