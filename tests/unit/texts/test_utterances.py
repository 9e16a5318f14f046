"""Compares the measures of utterances with values worked out by hand."""

import pytest

from soliloquy.texts.utterances import overlap_f1, uptake, words


@pytest.mark.parametrize(
    ("message", "reply", "share"),
    [
        ("I added the apples.", "Why did you add the pears?", 0.0),
        ("I added the 12 apples.", "You added 12 apples?", 1.0),
        ("I multiplied 3 by 4.", "Where does the 4 come from?", 1 / 3),
        ("It is 7, 7 apples.", "Seven apples? Or 7?", 1.0),
        ("I do not.", "Why?", None),
        ("", "Why?", None),
    ],
)
def test_uptake_is_the_share_of_a_messages_own_words_that_come_again(
    message: str, reply: str, share: float | None
) -> None:
    assert uptake(words(message), words(reply)) == (None if share is None else pytest.approx(share))


@pytest.mark.parametrize(
    ("text", "knowledge", "f1"),
    [
        ("Three bags of pears", "three BAGS of pears.", 1.0),
        ("pears pears", "pears", 2 / 3),
        ("pears and plums", "three bags of pears", 2 / 7),
        ("Why?", "pears", 0.0),
        ("", "pears", 0.0),
    ],
)
def test_knowledge_f1_counts_each_word_as_often_as_both_have_it(text: str, knowledge: str, f1: float) -> None:
    assert overlap_f1(text, knowledge) == pytest.approx(f1)
