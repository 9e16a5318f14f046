"""A chat that is too long is split between turns; nothing is lost, and nothing is learned twice."""

from collections.abc import Sequence
from itertools import pairwise

import pytest

from soliloquy.recipes.recipe import TrainingMessage
from soliloquy_training.data import TurnTooLong, split


def words(chat: Sequence[TrainingMessage]) -> int:
    return sum(len(told.text.split()) for told in chat)


# Messages of any length, and a turn of the tutor's that is not learned.
CHAT = [
    TrainingMessage("system", "You are a tutor. " * 3, 0),
    *(
        message
        for turn in range(1, 9)
        for message in (
            TrainingMessage("user", f"I come to {turn}. " * (1 + turn % 3), turn),
            TrainingMessage("assistant", f"Look at step {turn} again. " * (1 + turn % 4), turn, learned=turn != 3),
        )
    ),
]
LIMIT = words(CHAT) * 4 // 5


def test_every_part_fits_and_begins_with_what_stands_before_the_first_turn() -> None:
    parts = split(CHAT, LIMIT, words)
    assert len(parts) > 1
    for part in parts:
        assert words(part) <= LIMIT
        assert part[0] == CHAT[0]


def test_each_word_of_the_tutor_is_learned_once() -> None:
    parts = split(CHAT, LIMIT, words)
    assert [told for part in parts for told in part if told.learned] == [told for told in CHAT if told.learned]


def test_a_part_is_whole_turns_in_a_row() -> None:
    for part in split(CHAT, LIMIT, words):
        turns = list(dict.fromkeys(told.turn for told in part[1:]))
        assert all(after == before + 1 for before, after in pairwise(turns))
        for turn in turns:
            assert [told.text for told in part if told.turn == turn] == [
                told.text for told in CHAT if told.turn == turn
            ]


def test_a_later_part_keeps_the_turns_before_it_as_context() -> None:
    _, second, *_ = split(CHAT, LIMIT, words)
    assert second[1].role == "user"
    assert second[2].role == "assistant"
    assert not second[2].learned
    assert any(told.learned for told in second)


def test_a_chat_that_fits_stays_as_it_is() -> None:
    assert split(CHAT, words(CHAT), words) == [list(CHAT)]


def test_a_plan_that_is_longer_than_a_sequence_is_told_with_its_length() -> None:
    plan = [TrainingMessage("user", "Plan it.", 0), TrainingMessage("assistant", "Two steps.", 0, learned=True)]
    with pytest.raises(TurnTooLong) as refused:
        split(plan, 3, words)
    assert refused.value.tokens == 4


def test_a_turn_that_is_longer_than_a_sequence_is_told_with_its_length() -> None:
    with pytest.raises(TurnTooLong) as refused:
        split(CHAT, 10, words)
    assert refused.value.tokens > 10
