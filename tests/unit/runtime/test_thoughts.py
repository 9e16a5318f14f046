"""What a model thought is never taken for what it said."""

import pytest

from soliloquy.runtime.thoughts import parts_of
from tests.cases import each_case


@each_case
def test_words_and_thoughts_are_told_apart(text: str, words: str, thoughts: str) -> None:
    assert parts_of(text) == (words, thoughts)


@pytest.mark.parametrize("text", ["<think>2 + 2", "<|channel|>analysis<|message|>2 + 2", "<think>a</think><think>b"])
def test_a_model_that_never_stops_thinking_has_said_nothing(text: str) -> None:
    words, thoughts = parts_of(text)
    assert words == ""
    assert thoughts
