"""Judges finished conversations and stores them."""

from collections.abc import Iterable, MutableMapping, Sequence
from typing import Protocol

from soliloquy.dataset.manifest import UnreadableManifest
from soliloquy.recipes.calls import calls_of, calls_of_turns
from soliloquy.recipes.check_report import located_faults
from soliloquy.recipes.labels import labels_of
from soliloquy.recipes.recipe import find
from soliloquy.runtime.events import Outcome, emit
from soliloquy.runtime.failure import Refused
from soliloquy.runtime.model.costs import account, use_of, waited
from soliloquy.runtime.retry import CannotServe
from soliloquy.runtime.transports.port import Delivery
from soliloquy.v1.conversation_pb2 import Conversation, ModelCall, Summary, TokenUse, Verification
from soliloquy.v1.dataset_pb2 import Origin
from soliloquy.v1.events_pb2 import ConversationCollected, ConversationFinished
from soliloquy.v1.sandbox_pb2 import Status
from soliloquy_services.collector.metrics import count

QUESTION_CHARACTERS = 160


class Store(Protocol):
    async def add(self, conversation: Conversation, faults: list[str], origin: Origin, lineage: str = "") -> None: ...


async def collect(event: ConversationFinished, delivery: Delivery, store: Store) -> Outcome:
    """Stores the conversation before announcing it, so that everyone who hears of it can read it."""
    conversation = event.conversation
    topic, partition = delivery.partition
    origin = Origin(topic=topic, partition=partition, offset=delivery.offset)
    recipe = find(conversation.run.recipe)
    labels_of(conversation.run.recipe).check(conversation)
    if any(min(call.prompt_tokens, call.completion_tokens) < 0 for call in calls_of(conversation)):
        raise Refused(f"conversation {conversation.id}: a call of a model cannot take fewer than no tokens")
    checked = recipe.judge(conversation)
    faults = list(checked.faults)
    try:
        await store.add(conversation, faults, origin, delivery.event.lineage)
    except (OSError, UnreadableManifest) as error:
        raise CannotServe(f"the conversation cannot be stored: {error}") from error
    count(conversation, checked)
    return emit(verdict(conversation, faults, origin))


def verdict(conversation: Conversation, faults: Sequence[str], origin: Origin | None = None) -> ConversationCollected:
    """Returns the event that announces a judged conversation."""
    judged = Conversation(
        id=conversation.id,
        run=conversation.run,
        ordinal=conversation.ordinal,
        attempt=conversation.attempt,
        problem=conversation.problem if faults else None,
        ending=conversation.ending,
    )
    return ConversationCollected(
        conversation=judged,
        accepted=not faults,
        reasons=faults,
        summary=_summary(conversation, faults),
        finished=origin,
    )


def _summary(conversation: Conversation, faults: Sequence[str]) -> Summary:
    """Summarises a finished conversation for lists."""
    problem = conversation.problem
    question = problem.question
    summary = Summary(
        topic=problem.topic,
        question=question if len(question) <= QUESTION_CHARACTERS else f"{question[:QUESTION_CHARACTERS]}…",
        turns=len(conversation.turns),
        flags=sum(1 for _ in located_faults(faults)),
        verdicts=sum(turn.verification != Verification.VERIFICATION_UNSPECIFIED for turn in conversation.turns),
        unverified=sum(turn.verification == Verification.VERIFICATION_NONE for turn in conversation.turns),
        sent_back=sum(len(turn.rejected) for turn in conversation.turns),
        rewinds=len(conversation.rewinds),
        persona=conversation.persona,
        tutor_persona=conversation.tutor_persona,
    )
    calls = list(calls_of_turns(conversation))
    summary.calls = len(calls)
    summary.seconds = sum(call.seconds for call in calls)
    _add_use(summary.tokens, calls)
    if shared := problem.enrichment.calls:
        summary.enrichment.problem = problem.id
        summary.enrichment.calls = len(shared)
        summary.enrichment.seconds = waited(shared)
        _add_use(summary.enrichment.tokens, shared)
    for turn in conversation.turns:
        if turn.HasField("calculation"):
            summary.python_turns += 1
            summary.failed_executions += sum(
                attempt.execution.status != Status.STATUS_OK for attempt in turn.calculation.attempts
            )
    return summary


def _add_use(tokens: MutableMapping[str, TokenUse], calls: Iterable[ModelCall]) -> None:
    for call in calls:
        used = tokens[account(call.role, call.endpoint)]
        for kind, spent in use_of(call).items():
            setattr(used, kind, getattr(used, kind) + spent)
