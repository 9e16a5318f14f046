"""How a failed event is tried again, and from which one on a successor reads."""

from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st

from soliloquy.runtime.events import Event
from soliloquy.runtime.retry import RetryPolicy, dead, failed
from soliloquy.runtime.transports.port import Watermark

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


def test_an_error_with_half_a_surrogate_pair_fits_into_a_record() -> None:
    letter = dead(EVENT, ValueError("quoted: \ud83d"))
    assert letter.error.encode() == b"ValueError: quoted: \\ud83d"


sparse_offsets = st.sets(st.integers(1, 400), min_size=1, max_size=60).map(sorted)


@given(sparse_offsets, st.data())
def test_it_never_passes_an_unfinished_offset(offsets: list[int], data: st.DataObject) -> None:
    watermark = Watermark(0)
    for offset in offsets:
        assert watermark.take(offset)
    finished: set[int] = set()
    for offset in data.draw(st.permutations(offsets)):
        watermark.finish(offset)
        finished.add(offset)
        left = [other for other in offsets if other not in finished]
        assert watermark.position == max((o for o in offsets if o < min(left, default=401)), default=0)
        assert watermark.ahead == {other for other in finished if other > watermark.position}


@given(sparse_offsets, st.data())
def test_a_successor_takes_up_exactly_what_was_left(offsets: list[int], data: st.DataObject) -> None:
    first = Watermark(0)
    for offset in offsets:
        first.take(offset)
    finished = data.draw(st.sets(st.sampled_from(offsets)))
    for offset in finished:
        first.finish(offset)
    second = Watermark(first.position, first.ahead)
    taken = [offset for offset in offsets if offset > second.position and second.take(offset)]
    assert taken == [offset for offset in offsets if offset not in finished]
    for offset in taken:
        second.finish(offset)
    if taken:
        assert second.position == offsets[-1]
