"""The limit that a run is held against: what its model's answers alone would take."""

from typing import Any

import pytest

from benchmarks.run_limit import UnknownCall, makespan, waiting_times
from tests.cases import each_case


@each_case
def test_conversations_begin_in_order_as_soon_as_there_is_a_place(
    times: list[float], places: int, seconds: float
) -> None:
    assert makespan(times, places) == seconds


def test_a_conversation_that_holds_a_call_nobody_saw_does_not_count() -> None:
    record: dict[str, Any] = {
        "id": "c1",
        "ordinal": 0,
        "turns": [{"calls": [{"role": "student", "prompt": "soliloquy/student", "raw": ["Hi!"]}]}],
    }
    with pytest.raises(UnknownCall, match="conversation c1 holds a call"):
        waiting_times([record], [], run_seed=7)
