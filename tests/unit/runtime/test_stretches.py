"""Stretches hold what a set would hold, in two numbers for all that follow each other."""

from itertools import islice

from hypothesis import given
from hypothesis import strategies as st

from soliloquy.runtime.stretches import Stretches

NUMBERS = st.lists(st.integers(min_value=0, max_value=40))


@given(NUMBERS)
def test_they_hold_what_was_added_and_nothing_else(numbers: list[int]) -> None:
    stretches = Stretches()
    for number in numbers:
        stretches.add(number)
    again = Stretches(stretches)
    for each in (stretches, again):
        assert [number for number in range(42) if number in each] == sorted(set(numbers))
        assert len(each) == len(set(numbers))
        assert list(islice(each.missing(), 42)) == [number for number in range(84) if number not in numbers][:42]


BOUNDS = st.lists(NUMBERS.map(lambda numbers: list(Stretches.of(numbers))))


@given(BOUNDS)
def test_stretches_of_others_are_added_whole(every: list[list[int]]) -> None:
    stretches, numbers = Stretches(), set[int]()
    for bounds in every:
        stretches.update(bounds)
        for first, past in Stretches(bounds).pairs():
            numbers.update(range(first, past))
    assert list(stretches) == list(Stretches.of(numbers))


@given(st.permutations(range(12)))
def test_numbers_that_follow_each_other_are_one_stretch_in_whatever_order_they_come(numbers: list[int]) -> None:
    stretches = Stretches()
    for number in numbers:
        stretches.add(number)
    assert list(stretches) == [0, 12]
