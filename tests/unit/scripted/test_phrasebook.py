"""How sentences are put together: nobody says the same twice, or asks two things at once."""

import re
from random import Random

from soliloquy.recipes.scripted.phrasebook import Part, Style, compose, rephrase

TOLD = "I like how you did that."
OTHER = "That is what I would do."


def test_a_sentence_that_was_said_before_gives_way_to_another() -> None:
    part = Part(options=[TOLD, OTHER])
    assert {rephrase([part], Random(seed), 0, [f"{TOLD} What now?"]) for seed in range(20)} == {OTHER}


def test_an_optional_sentence_that_was_said_before_is_left_out() -> None:
    parts = [Part(options=["What is the mass?"]), Part(options=[TOLD], optional=True)]
    assert rephrase(parts, Random(1), 0, [TOLD]) == "What is the mass?"
    assert rephrase(parts, Random(1), 0, []) == f"What is the mass? {TOLD}"


def test_a_message_that_cannot_be_put_differently_is_still_said() -> None:
    assert rephrase([Part(options=[TOLD])], Random(1), 0, [TOLD]) == TOLD


def test_what_only_asks_is_left_out_behind_a_question() -> None:
    nudge = Part(options=["What do you get now?"], asks=True)
    assert compose([Part(options=["How did you get 4?"]), nudge], Random(1)) == "How did you get 4?"
    assert compose([Part(options=["Not quite."]), nudge], Random(1)) == "Not quite. What do you get now?"


def test_a_style_prefers_long_or_short_wordings_and_avoids_what_it_can() -> None:
    options = ["Yes!", "Yes.", "Yes, that is the mass."]
    brisk, formal = Style(weighed=30), Style(weighed=30, longest=True, avoids=re.compile("!"))
    assert {len(brisk.pick(options, Random(seed)).split()) for seed in range(20)} == {1}
    assert {formal.pick(options, Random(seed)) for seed in range(20)} == {options[2]}
    assert formal.pick(["Yes!"], Random(1)) == "Yes!"


def test_a_style_that_says_little_leaves_optional_sentences_out() -> None:
    parts = [Part(options=["Right."]), Part(options=[TOLD], optional=True)]
    said = [compose(parts, Random(seed), style=Style(optional=0.25)) for seed in range(200)]
    assert 0.15 < sum(TOLD in text for text in said) / 200 < 0.35
