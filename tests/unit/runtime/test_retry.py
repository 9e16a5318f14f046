"""How the retry policy treats a failed event."""

from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st

from soliloquy.runtime.events import Event
from soliloquy.runtime.retry import MAX_ERROR_CHARACTERS, RetryPolicy, dead, failed, parked

EVENT = Event(id="e1", topic="student.replied", key="c1", payload=b"p", source="student", time=1.0, traceparent="t")


def test_a_failed_event_waits_in_its_retry_topic() -> None:
    policy = RetryPolicy(backoff=5.0, jitter=0.0)
    event = failed(EVENT, ValueError("no"), policy, now=100.0)
    assert event == replace(EVENT, topic="student.replied.retry", attempt=1, not_before=105.0, error="ValueError: no")
    assert failed(event, ValueError("no"), policy, now=200.0).not_before == 210.0


def test_the_last_attempt_ends_in_the_dead_letters() -> None:
    event = EVENT
    for _ in range(RetryPolicy().attempts):
        event = failed(event, ValueError("no"), RetryPolicy(), now=100.0)
    assert event == replace(EVENT, topic="student.replied.dlq", attempt=5, error="ValueError: no")


@given(st.integers(1, 60), st.text(min_size=1), st.floats(0, 1))
def test_waits_are_capped_spread_and_the_same_for_the_same_event(turn: int, event_id: str, jitter: float) -> None:
    policy, event = RetryPolicy(jitter=jitter), replace(EVENT, id=event_id)
    for wait, cap in [(policy.backoff_after, policy.backoff_cap), (policy.pause_after, policy.pause_cap)]:
        assert cap * (1 - jitter) * (turn > 20) <= wait(event, turn) <= cap
        assert wait(event, turn) == wait(event, turn)


def test_events_that_failed_together_do_not_return_together() -> None:
    waits = {RetryPolicy().backoff_after(replace(EVENT, id=f"e{number}"), 1) for number in range(50)}
    assert len(waits) == 50


def test_an_event_that_only_waits_is_no_failed_one() -> None:
    assert parked(EVENT) == replace(EVENT, topic="student.replied.retry")


def test_an_error_with_half_a_surrogate_pair_fits_into_a_record() -> None:
    letter = dead(EVENT, ValueError("quoted: \ud83d"))
    assert letter.error.encode() == b"ValueError: quoted: \\ud83d"


def test_an_endless_error_is_cut() -> None:
    assert len(dead(EVENT, ValueError("x" * 10_000)).error) == MAX_ERROR_CHARACTERS
