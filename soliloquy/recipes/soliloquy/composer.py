"""The tutor's two replying states: with Python's output and without."""

from soliloquy.recipes.claims import record_claims, stated_with
from soliloquy.recipes.codes import EVALUATIONS
from soliloquy.recipes.judges import Judges
from soliloquy.recipes.outcomes import finish
from soliloquy.recipes.soliloquy import prompting
from soliloquy.recipes.soliloquy.answers import Reply
from soliloquy.recipes.soliloquy.codes import STATES
from soliloquy.recipes.soliloquy.labels_pb2 import TutorLabels
from soliloquy.runtime.ask import Ask
from soliloquy.runtime.events import Outcome, emit
from soliloquy.v1.conversation_pb2 import Ending, TutorReply
from soliloquy.v1.events_pb2 import ReplyNeeded, TutorReplied


async def reply(event: ReplyNeeded, ask: Ask, judges: Judges) -> Outcome:
    """Runs the Received Python state if there is an output, else the No Python state."""
    conversation = event.conversation
    reply = await ask(prompting.composing(conversation), Reply, stated_with(conversation.problem))
    labels = TutorLabels(action=int(reply.action), step=int(reply.step), state=STATES[reply.state])
    said = TutorReply(
        thoughts=reply.thoughts, evaluation=EVALUATIONS[reply.evaluation], labels=labels.SerializeToString()
    )
    record_claims(said, reply)
    conversation.turns[-1].tutor.CopyFrom(said)
    if reply.state == "t":
        return finish(conversation, Ending.ENDING_SOLVED)
    if len(conversation.turns) >= conversation.run.max_turns:
        return finish(conversation, Ending.ENDING_TURN_LIMIT)
    return emit(TutorReplied(conversation=conversation))
