"""Answers in the manner of real model families are read as a careful person reads them."""

import pytest

from benchmarks.labelled import Readings, total
from benchmarks.manners import MANNERS, read_family

FAMILIES = ["claude", "gemini", "gpt", "open", "reasoning"]


def read(folder: str) -> Readings:
    return total(read_family(MANNERS.with_name(folder) / f"{family}.jsonl") for family in FAMILIES)


@pytest.mark.parametrize(("folder", "answers"), [("manners", 300), ("manners_second", 200)])
def test_every_word_is_read_as_it_was_labelled_and_nothing_else_is(folder: str, answers: int) -> None:
    reading = read(folder)
    counts = reading.counts
    assert (counts["all"], counts["with controls"]) == (answers, 0)
    assert counts["right"] + counts["not read"] == answers, reading.faults
    assert counts["thoughts"] == 0, reading.faults
    # An empty answer whose thoughts hold a draft is asked for again as an empty one; a name alone is asked for again.
    assert counts["with reason"] >= counts["not read"] - 2, reading.faults


def test_answers_that_taught_the_reader_little_are_read_no_worse_than_before() -> None:
    reading = read("manners_third")
    counts = reading.counts
    assert (counts["all"], counts["with controls"], counts["read in error"], counts["thoughts"]) == (100, 0, 0, 0)
    assert counts["right"] >= 72, reading.faults
