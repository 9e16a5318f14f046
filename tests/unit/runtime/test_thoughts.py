"""What a model thought is never taken for what it said."""

import pytest

from soliloquy.runtime.thoughts import parts_of


@pytest.mark.parametrize(
    ("text", "words", "thoughts"),
    [
        ("<think>2 + 2 = 4</think>\n\nIt is 4.", "It is 4.", "2 + 2 = 4"),
        ("2 + 2 = 4</think>It is 4.", "It is 4.", "2 + 2 = 4"),
        ("<THINKING>a</THINKING><think>b</think>It is 4.", "It is 4.", "a\n\nb"),
        ("[THINK]a[/THINK]It is 4.", "It is 4.", "a"),
        ("<think></think>It is 4.", "It is 4.", ""),
        ("It is 4.</s>", "It is 4.", ""),
        (
            "<|channel|>analysis<|message|>a<|end|><|start|>assistant<|channel|>final<|message|>It is 4.<|return|>",
            "It is 4.",
            "a",
        ),
        ("Is x < 4, or [3, 4]?", "Is x < 4, or [3, 4]?", ""),
        ("I think </b> closes it.", "I think </b> closes it.", ""),
        ("Here is my thought process:\na\n\nMy answer:\nIt is 4.", "It is 4.", "a"),
    ],
)
def test_words_and_thoughts_are_told_apart(text: str, words: str, thoughts: str) -> None:
    assert parts_of(text) == (words, thoughts)


@pytest.mark.parametrize("text", ["<think>2 + 2", "<|channel|>analysis<|message|>2 + 2", "<think>a</think><think>b"])
def test_a_model_that_never_stops_thinking_has_said_nothing(text: str) -> None:
    words, thoughts = parts_of(text)
    assert words == ""
    assert thoughts
