"""A model that fails may repeat anything without end, and no reader holds a service up over it."""

import time
from collections.abc import Callable

import pytest

from soliloquy.recipes.manners import check_speaker, check_words
from soliloquy.recipes.speech import cleaned, has_alternatives, is_about_the_message, second_speaker
from soliloquy.truth.numbers import numbers_in
from soliloquy.truth.quantities import calculations_in, quantities_in
from soliloquy.truth.stated_answer import answer_in, answer_quantity, denied_numbers
from soliloquy.truth.units import unit_after
from soliloquy.v1.conversation_pb2 import Conversation, StudentReply, Turn

CHARACTERS = 4_000
WHITE_SPACE = ["\n", " ", "\n ", " \n", "\t\n ", "\r\n", "\u00a0 "]
SIGNS = [
    "7",
    "1,",
    "1.",
    ",",
    "{",
    "{}",
    "{,}",
    "1{,}",
    "(",
    "- ",
    "** ",
    "*",
    "_",
    "1/",
    "1 + ",
    "= ",
    "\\frac{",
    "½",
    "$1 ",
]
WORDS = ["a ", "1 ", "1 m ", "m·", "one and ", "half a ", "minus ", "1 of ", "because ", "Turn 1 ", "(note "]


def _has_good_manners(text: str) -> None:
    conversation = Conversation(turns=[Turn(number=1, student=StudentReply(text=text))])
    list(check_words(conversation, conversation.turns))
    list(check_speaker(conversation, conversation.turns))


READERS: list[Callable[[str], object]] = [
    lambda text: cleaned(text, "student"),
    lambda text: cleaned(text, "tutor"),
    lambda text: second_speaker(text, "student"),
    has_alternatives,
    is_about_the_message,
    _has_good_manners,
    numbers_in,
    quantities_in,
    lambda text: list(calculations_in(text)),
    lambda text: answer_in(text, "m"),
    lambda text: answer_quantity(text, "m"),
    denied_numbers,
    lambda text: unit_after(text, 1),
]


@pytest.mark.parametrize("piece", [*WHITE_SPACE, *SIGNS, *WORDS])
def test_every_reader_takes_less_than_a_second_for_an_endless_text(piece: str) -> None:
    endless = piece * (CHARACTERS // len(piece))
    for text in (endless, f"It is 5 {endless}m", f"a{endless}:b"):
        for read in READERS:
            # A loaded machine may hold one reading up, and a slow reader is slow twice.
            assert any(_seconds(read, f"{text}{end}") < 1 for end in (".", "!"))


def _seconds(read: Callable[[str], object], text: str) -> float:
    began = time.process_time()
    read(text)
    return time.process_time() - began
