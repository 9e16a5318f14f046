"""Promises of the hashes of runs of words."""

import numpy as np
import pytest

from soliloquy.texts.ngrams import hashes_of, runs, tokens


@pytest.mark.parametrize(
    ("text", "read"),
    [
        ("He pays 1,200.0 dollars.", ["he", "pays", "1200", "dollars"]),
        ("A high-speed train: 7 - 2 = .50", ["a", "high", "speed", "train", "7", "-", "2", "=", "0.5"]),
        ("?!", []),
    ],
)
def test_writing_makes_no_difference_to_words_and_numbers(text: str, read: list[str]) -> None:
    assert tokens(text) == read


def test_texts_have_as_many_hashes_in_common_as_they_share_runs_of_words() -> None:
    one, other = (hashes_of(text.split()) for text in ("a b c d e f a b c", "x b c d e y"))
    assert len(runs(one, 3)) == 6
    assert len(np.intersect1d(runs(one, 3), runs(other, 3))) == 2


def test_the_order_of_words_counts() -> None:
    assert not {*runs(hashes_of(["a", "b", "c"]), 3).tolist()} & {*runs(hashes_of(["c", "b", "a"]), 3).tolist()}


def test_a_text_with_fewer_words_is_one_run_and_one_without_words_is_none() -> None:
    assert len(runs(hashes_of(["a", "b"]), 3)) == 1
    assert len(runs(hashes_of([]), 3)) == 0
