"""The least time that a run can take: what its model's answers alone would need."""

import heapq
from collections import defaultdict
from collections.abc import Iterable, Sequence

from benchmarks.call_log import CallLog
from soliloquy.recipes.calls import calls_of
from soliloquy.v1.conversation_pb2 import Conversation


def waiting_times(conversations: Iterable[Conversation], observation: CallLog) -> list[float]:
    """Returns, for each problem in order, the seconds that its conversations waited for answers."""
    found: defaultdict[int, float] = defaultdict(float)
    for conversation in conversations:
        answers = ((call.role, answer) for call in calls_of(conversation) for answer in call.raw)
        found[conversation.ordinal] += sum(observation.seconds(*answer) for answer in answers)
    return [found[ordinal] for ordinal in sorted(found)]


def makespan(times: Sequence[float], places: int) -> float:
    """Schedules the conversations in order, each as soon as one of the places is free, and returns the total time."""
    free_at = [0.0] * min(places, len(times))
    for seconds in times:
        heapq.heapreplace(free_at, free_at[0] + seconds)
    return max(free_at)
