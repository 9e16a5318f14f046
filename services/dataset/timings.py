"""What a clock or a machine said of a conversation, apart from what the run made of it."""

from soliloquy.v1.conversation_pb2 import Conversation
from soliloquy.v1.dataset_pb2 import Timings

_OF_EXECUTIONS = ("seconds", "waited_seconds", "runsc_version")
# A matter of speed, and of who grew it.
_OF_RUNS = ("in_flight", "growing")


def apart(conversation: Conversation, *, at: float) -> tuple[Conversation, Timings]:
    """The conversation as the same run always makes it, and what differs each time."""
    kept = Conversation()
    kept.CopyFrom(conversation)
    timings = Timings(id=kept.id, collected_at=at)
    for name in _OF_RUNS:
        kept.run.ClearField(name)
    asked = [(0, call) for call in kept.problem.enrichment.calls]
    for turn in kept.turns:
        asked += [(turn.number, call) for call in turn.calls]
        for number, attempt in enumerate(turn.calculation.attempts, start=1):
            execution = attempt.execution
            told = {name: getattr(execution, name) for name in _OF_EXECUTIONS}
            timings.executions.add(turn=turn.number, attempt=number, lane=execution.lane, **told)
            for name in _OF_EXECUTIONS:
                execution.ClearField(name)
    for number, call in asked:
        timings.calls.add(turn=number, role=call.role, seconds=call.seconds)
        call.ClearField("seconds")
    return kept, timings
