"""Answers in the manner of real model families are read as a careful person reads them."""

import pytest

from benchmarks.manners import MANNERS, read_family


@pytest.mark.parametrize("family", ["claude", "gemini", "gpt", "open", "reasoning"])
def test_every_word_is_read_as_it_was_labelled_and_nothing_else_is(family: str) -> None:
    reading = read_family(MANNERS / f"{family}.jsonl")
    assert (reading.answers, reading.with_controls) == (60, 0)
    assert reading.right + reading.not_read == 60, reading.faults
    assert reading.other_thoughts == 0, reading.faults
    # An empty answer whose thoughts hold a draft is asked for again as an empty one.
    assert reading.right_reason >= reading.not_read - 2, reading.faults
