"""The limit that a run is held against: what its model's answers alone would take."""

from benchmarks.call_log import CallLog
from benchmarks.run_limit import makespan, waiting_times
from soliloquy.v1.conversation_pb2 import Conversation
from tests.cases import each_case


@each_case
def test_conversations_begin_in_order_as_soon_as_there_is_a_place(
    times: list[float], places: int, seconds: float
) -> None:
    assert makespan(times, places) == seconds


def test_each_answer_counts_whether_it_was_used_or_not() -> None:
    first, second = Conversation(ordinal=0), Conversation(ordinal=1)
    first.turns.add().calls.add(role="student", raw=["no JSON", "Hi!"])
    first.rewinds.add().turns.add().calls.add(role="composer", raw=["Well done!"])
    second.turns.add().calls.add(role="student", raw=["Hello!"])
    assert waiting_times([second, first], CallLog(calls="", latency=((1.0, 1.0),))) == [3.0, 1.0]
