"""What a clock or a machine said of a conversation is apart from what the run made of it."""

from soliloquy.v1.conversation_pb2 import Conversation

from services.dataset.timings import apart
from tests.unit.recipes.conversations import enriched_conversation


def grown(seconds: float) -> Conversation:
    """As one machine or another would."""
    conversation = enriched_conversation()
    conversation.run.growing, conversation.run.in_flight = f"g{seconds}", int(seconds)
    conversation.problem.enrichment.calls.add(role="planner", seconds=seconds)
    for turn in conversation.turns:
        turn.calls.add(role="tutor", seconds=seconds)
        for attempt in turn.calculation.attempts:
            attempt.execution.seconds, attempt.execution.waited_seconds = seconds, 2 * seconds
            attempt.execution.runsc_version = f"v{seconds}"
    return conversation


def test_the_same_run_is_the_same_on_any_machine() -> None:
    one, _ = apart(grown(1.0), at=10.0)
    other, _ = apart(grown(3.0), at=30.0)
    assert one.SerializeToString() == other.SerializeToString()


def test_every_time_is_kept_with_its_turn() -> None:
    before = grown(1.5)
    _, timings = apart(before, at=10.0)
    assert before == grown(1.5)
    assert (timings.id, timings.collected_at) == (before.id, 10.0)
    assert [(call.turn, call.role, call.seconds) for call in timings.calls] == [
        (0, "planner", 1.5),
        *((turn.number, "tutor", 1.5) for turn in before.turns),
    ]
    assert [(one.turn, one.attempt, one.seconds, one.waited_seconds) for one in timings.executions] == [
        (2, 1, 1.5, 3.0),
        (3, 1, 1.5, 3.0),
    ]
    assert {one.runsc_version for one in timings.executions} == {"v1.5"}
