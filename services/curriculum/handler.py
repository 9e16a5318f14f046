"""Turns submitted problems into conversations, as many at a time as the run allows."""

from soliloquy.v1.conversation_pb2 import Conversation, Problem
from soliloquy.v1.events_pb2 import ConversationCollected, ConversationStarted, ProblemSubmitted
from soliloquy.v1.runs_pb2 import Run

from services.curriculum.admission import Admission, is_final
from services.runtime.events import Outcome, emit
from services.runtime.seeds import digest


async def start(event: ProblemSubmitted, admission: Admission) -> Outcome:
    conversation = attempt_at(event.problem, run=event.run, ordinal=event.ordinal, attempt=0)
    admitted = await admission.enter(conversation)
    return emit(ConversationStarted(conversation=conversation)) if admitted else emit()


async def follow_up(event: ConversationCollected, admission: Admission) -> Outcome:
    """A rejected conversation is followed by another attempt at its problem: the run ends with all it asked for."""
    rejected = event.conversation
    if is_final(event):
        await admission.leave(rejected)
        return emit()
    again = attempt_at(rejected.problem, run=rejected.run, ordinal=rejected.ordinal, attempt=rejected.attempt + 1)
    return emit(ConversationStarted(conversation=again))


def attempt_at(problem: Problem, *, run: Run, ordinal: int, attempt: int) -> Conversation:
    """The same attempt at the same place of the same run is always the same conversation."""
    return Conversation(
        id=digest(run.id, problem.id, ordinal, attempt),
        run=run,
        ordinal=ordinal,
        attempt=attempt,
        problem=problem,
    )
