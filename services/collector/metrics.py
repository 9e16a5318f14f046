"""Counts finished conversations, their outcomes and their tokens."""

from soliloquy.runtime.instruments import counter, gauge
from soliloquy.truth.report import CheckedConversation
from soliloquy.v1.conversation_pb2 import Conversation

FINISHED = counter("soliloquy_conversations_finished_total")
REASONS = counter("soliloquy_rejection_reasons_total")
TURNS = counter("soliloquy_conversation_turns_total")
TOKENS = counter("soliloquy_conversation_tokens_total")
VERDICTS = counter("soliloquy_verdicts_total")
BLOCKED = gauge("soliloquy_shards_blocked")


def finished(conversation: Conversation, checked: CheckedConversation) -> None:
    recipe, outcome = conversation.run.recipe, "rejected" if checked.faults else "accepted"
    FINISHED.labels(recipe, outcome).inc()
    for reason in {fault.partition(":")[0] for fault in checked.faults}:
        REASONS.labels(recipe, reason).inc()
    for told in checked.turns:
        if told.verdict_true is not None:
            VERDICTS.labels(recipe, "true" if told.verdict_true else "untrue").inc()
    for turn in conversation.turns:
        TURNS.labels(recipe, outcome, "yes" if turn.HasField("calculation") else "no").inc()
        for call in turn.calls:
            TOKENS.labels(recipe, outcome, "prompt").inc(call.prompt_tokens)
            TOKENS.labels(recipe, outcome, "completion").inc(call.completion_tokens)
