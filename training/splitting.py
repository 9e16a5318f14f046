"""Chats that are longer than a sequence: cut between turns, each part behind as much of what was said before as fits."""

from collections.abc import Callable, Sequence
from itertools import groupby

from services.recipes.recipe import Told

# Of a part, at least so much is to be what it adds; the rest may be what was said before.
_OWN_SHARE = 0.5


class TurnTooLong(Exception):
    """One turn alone, behind what stands before the first, is longer than a sequence."""

    def __init__(self, tokens: int) -> None:
        super().__init__(tokens)
        self.tokens = tokens


def split(chat: Sequence[Told], limit: int, length: Callable[[Sequence[Told]], int]) -> list[list[Told]]:
    """Parts of at most `limit` tokens; what a part repeats of an earlier one is not learned again.

    A chat of one prompt and its answer has nothing to cut between, and is one turn.
    """
    head, *turns = _by_turn(chat)
    parts = []
    start = 0
    while start < len(turns):
        before = _context(head, turns, start, int(limit * (1 - _OWN_SHARE)), length)
        end = _reach(before, turns, start, limit, length)
        if end == start:
            before, end = head, _reach(head, turns, start, limit, length)
        if end == start:
            raise TurnTooLong(length([*head, *turns[start]]))
        parts.append([*before, *_flat(turns[start:end])])
        start = end
    return parts


def _by_turn(chat: Sequence[Told]) -> list[list[Told]]:
    """What stands before the first turn comes first, empty where nothing does."""
    turns = [list(told) for _, told in groupby(chat, key=lambda told: told.turn)]
    return turns if turns[0][0].turn == 0 else [[], *turns]


def _context(
    head: list[Told], turns: list[list[Told]], start: int, limit: int, length: Callable[[Sequence[Told]], int]
) -> list[Told]:
    """The head, and the last turns before `start` that fit behind it."""
    context = head
    for first in range(start - 1, -1, -1):
        longer = [*head, *(told._replace(learned=False) for told in _flat(turns[first:start]))]
        if length(longer) > limit:
            break
        context = longer
    return context


def _reach(
    before: list[Told], turns: list[list[Told]], start: int, limit: int, length: Callable[[Sequence[Told]], int]
) -> int:
    """How far the turns from `start` on fit behind what stands before."""
    end = start
    while end < len(turns) and length([*before, *_flat(turns[start : end + 1])]) <= limit:
        end += 1
    return end


def _flat(turns: list[list[Told]]) -> list[Told]:
    return [told for turn in turns for told in turn]
