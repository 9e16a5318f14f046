"""Compares the measures of utterances with values worked out by hand."""

import pytest

from soliloquy.texts.utterances import overlap_f1, uptake, words
from tests.cases import each_case


@each_case
def test_uptake_is_the_share_of_a_messages_own_words_that_come_again(
    message: str, reply: str, share: float | None
) -> None:
    assert uptake(words(message), words(reply)) == (None if share is None else pytest.approx(share))


@each_case
def test_knowledge_f1_counts_each_word_as_often_as_both_have_it(text: str, knowledge: str, f1: float) -> None:
    assert overlap_f1(text, knowledge) == pytest.approx(f1)
