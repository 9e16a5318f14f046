"""Summarises a finished conversation for lists."""

from itertools import chain

from soliloquy.truth.report import CheckedConversation, located_faults
from soliloquy.v1.conversation_pb2 import Conversation, Summary
from soliloquy.v1.sandbox_pb2 import Status

QUESTION_CHARACTERS = 160


def summary_of(conversation: Conversation, checked: CheckedConversation) -> Summary:
    problem = conversation.problem
    question = problem.question
    summary = Summary(
        topic=problem.topic,
        question=question if len(question) <= QUESTION_CHARACTERS else f"{question[:QUESTION_CHARACTERS]}…",
        turns=len(conversation.turns),
        flags=sum(1 for _ in located_faults(checked.faults)),
    )
    # Counted once: further attempts share the enrichment.
    before = problem.enrichment.calls if conversation.attempt == 0 else ()
    for call in chain(before, *(turn.calls for turn in conversation.turns)):
        used = summary.tokens[call.role]
        used.prompt += call.prompt_tokens
        used.completion += call.completion_tokens
    for turn in conversation.turns:
        if turn.HasField("calculation"):
            summary.python_turns += 1
            summary.failed_executions += sum(
                attempt.execution.status != Status.STATUS_OK for attempt in turn.calculation.attempts
            )
    return summary
