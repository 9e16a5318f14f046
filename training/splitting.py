"""Splits chats longer than a sequence between turns; each part starts with as many earlier turns as fit."""

from collections.abc import Callable, Sequence
from itertools import groupby

from soliloquy.recipes.recipe import TrainingMessage

Length = Callable[[Sequence[TrainingMessage]], int]

# The share of a part's free space, after its first own turn, that earlier turns may take.
_CONTEXT_SHARE = 0.5


class TurnTooLong(Exception):
    """One turn, together with the messages before the first turn, is longer than a sequence."""

    def __init__(self, tokens: int) -> None:
        super().__init__(tokens)
        self.tokens = tokens


def split(chat: Sequence[TrainingMessage], limit: int, length: Length) -> list[list[TrainingMessage]]:
    """Returns parts of at most `limit` tokens; turns that a part repeats are not learned again.

    A chat of one prompt and its answer is one turn, and cannot be split.
    """
    head, *turns = _by_turn(chat)
    parts = []
    start = 0
    while start < len(turns):
        part = _with_context(head, turns, start, limit, length)
        end = start + 1
        while end < len(turns) and length([*part, *turns[end]]) <= limit:
            part += turns[end]
            end += 1
        parts.append(part)
        start = end
    return parts


def _by_turn(chat: Sequence[TrainingMessage]) -> list[list[TrainingMessage]]:
    """Returns the messages before the first turn, which may be none, and then the turns."""
    turns = [list(messages) for _, messages in groupby(chat, key=lambda message: message.turn)]
    return turns if turns[0][0].turn == 0 else [[], *turns]


def _with_context(
    head: list[TrainingMessage], turns: list[list[TrainingMessage]], start: int, limit: int, length: Length
) -> list[TrainingMessage]:
    """Returns the head, as many earlier turns as fit, and the turn itself."""
    part = [*head, *turns[start]]
    alone = length(part)
    if alone > limit:
        raise TurnTooLong(alone)
    room = alone + int((limit - alone) * _CONTEXT_SHARE)
    before: list[TrainingMessage] = []
    for turn in reversed(turns[:start]):
        before = [*(message._replace(learned=False) for message in turn), *before]
        longer = [*head, *before, *turns[start]]
        if length(longer) > room:
            break
        part = longer
    return part
