"""Starts conversations for submitted problems, as many at a time as the run allows."""

from soliloquy.runtime.events import AnyOutcome, emit
from soliloquy.runtime.metrics import counter
from soliloquy.runtime.seeds import digest
from soliloquy.truth.ledger import make_ledger, programs_in
from soliloquy.v1.conversation_pb2 import Conversation, Ending, Problem
from soliloquy.v1.events_pb2 import (
    ConversationCollected,
    ConversationStarted,
    EnrichmentNeeded,
    ProblemSubmitted,
    ProgramsNeeded,
    RunCancelled,
)
from soliloquy.v1.runs_pb2 import Run
from soliloquy_services.curriculum.admission import Admission

STARTED = counter("soliloquy_conversations_started_total")


async def start(event: ProblemSubmitted, admission: Admission) -> AnyOutcome:
    conversation = attempt_at(event.problem, run=event.run, ordinal=event.ordinal, attempt=0)
    if (standing := admission.enter(conversation)) is None:
        return emit()
    if not conversation.problem.HasField("ledger"):
        conversation.problem.ledger.CopyFrom(make_ledger(conversation.problem))
    STARTED.labels(event.run.recipe).inc()
    return emit(opening_event(conversation), standing)


async def follow_up(event: ConversationCollected, admission: Admission) -> AnyOutcome:
    """Starts another attempt at the problem of a rejected conversation, up to the run's `max_attempts`.

    The problem keeps its enrichment. An unfit problem is not tried again.
    """
    collected = event.conversation
    if not (event.accepted or collected.HasField("problem")):
        # Recovery tells it again for the counts alone: there is another attempt already.
        return emit()
    last = collected.ending == Ending.ENDING_UNFIT or collected.attempt + 1 >= collected.run.max_attempts
    if event.accepted or last:
        standing = admission.leave(collected)
        return emit(standing) if standing else emit()
    STARTED.labels(collected.run.recipe).inc()
    again = attempt_at(collected.problem, run=collected.run, ordinal=collected.ordinal, attempt=collected.attempt + 1)
    return emit(ConversationStarted(conversation=again))


def opening_event(conversation: Conversation) -> ProgramsNeeded | EnrichmentNeeded | ConversationStarted:
    problem = conversation.problem
    if conversation.run.programs and problem.HasField("answer") and not programs_in(problem.ledger):
        return ProgramsNeeded(conversation=conversation)
    return (EnrichmentNeeded if conversation.run.enrich else ConversationStarted)(conversation=conversation)


async def cancel(event: RunCancelled, admission: Admission) -> AnyOutcome:
    return emit(admission.clear(event.run))


def attempt_at(problem: Problem, *, run: Run, ordinal: int, attempt: int) -> Conversation:
    """Returns the conversation of an attempt, with an id that follows from run, problem, ordinal and attempt."""
    return Conversation(
        id=digest(run.id, problem.id, ordinal, attempt),
        run=run,
        ordinal=ordinal,
        attempt=attempt,
        problem=problem,
    )
