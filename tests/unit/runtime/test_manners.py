"""Answers in the manner of real model families are read as a careful person reads them."""

import pytest

from benchmarks.manners import MANNERS, read_family


@pytest.mark.parametrize("family", ["claude", "gemini", "gpt", "open", "reasoning"])
def test_every_word_is_read_as_it_was_labelled_and_nothing_else_is(family: str) -> None:
    reading = read_family(MANNERS / f"{family}.jsonl")
    counts = reading.counts
    assert (counts["all"], counts["with controls"]) == (60, 0)
    assert counts["right"] + counts["not read"] == 60, reading.faults
    assert counts["thoughts"] == 0, reading.faults
    # An empty answer whose thoughts hold a draft is asked for again as an empty one.
    assert counts["with reason"] >= counts["not read"] - 2, reading.faults
