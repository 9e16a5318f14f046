"""The watermark of a partition, whatever the order its events finish in."""

from hypothesis import given
from hypothesis import strategies as st

from soliloquy.runtime.transports.watermark import Watermark

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


def test_an_offset_is_open_from_its_taking_to_its_finish() -> None:
    watermark = Watermark(3, [5])
    assert not watermark.is_open(4)
    watermark.take(4)
    watermark.take(5)
    assert watermark.is_open(4)
    assert not watermark.is_open(5)
    watermark.finish(4)
    assert not watermark.is_open(4)
    assert watermark.position == 5
