"""What became of finished conversations, and what they took."""

from collections.abc import Collection

from soliloquy.v1.conversation_pb2 import Conversation

from services.runtime.instruments import counter

FINISHED = counter("soliloquy_conversations_finished_total")
REASONS = counter("soliloquy_rejection_reasons_total")
TURNS = counter("soliloquy_conversation_turns_total")
TOKENS = counter("soliloquy_conversation_tokens_total")


def finished(conversation: Conversation, faults: Collection[str]) -> None:
    recipe, outcome = conversation.run.recipe, "rejected" if faults else "accepted"
    FINISHED.labels(recipe, outcome).inc()
    for reason in {fault.partition(":")[0] for fault in faults}:
        REASONS.labels(recipe, reason).inc()
    for turn in conversation.turns:
        TURNS.labels(recipe, outcome, "yes" if turn.HasField("calculation") else "no").inc()
        for call in turn.calls:
            TOKENS.labels(recipe, outcome, "prompt").inc(call.prompt_tokens)
            TOKENS.labels(recipe, outcome, "completion").inc(call.completion_tokens)
