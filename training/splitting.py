"""Chats that are longer than a sequence: cut between turns, each part behind as much of what came before as fits."""

from collections.abc import Callable, Sequence
from itertools import groupby

from soliloquy.recipes.recipe import ChatMessage

Length = Callable[[Sequence[ChatMessage]], int]

# Of what a part has room for besides its first own turn, so much may be turns before it.
_CONTEXT_SHARE = 0.5


class TurnTooLong(Exception):
    """One turn alone, behind what stands before the first, is longer than a sequence."""

    def __init__(self, tokens: int) -> None:
        super().__init__(tokens)
        self.tokens = tokens


def split(chat: Sequence[ChatMessage], limit: int, length: Length) -> list[list[ChatMessage]]:
    """Parts of at most `limit` tokens; what a part repeats of an earlier one is not learned again.

    A chat of one prompt and its answer has nothing to cut between, and is one turn.
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


def _by_turn(chat: Sequence[ChatMessage]) -> list[list[ChatMessage]]:
    """What stands before the first turn comes first, empty where nothing does."""
    turns = [list(told) for _, told in groupby(chat, key=lambda told: told.turn)]
    return turns if turns[0][0].turn == 0 else [[], *turns]


def _with_context(
    head: list[ChatMessage], turns: list[list[ChatMessage]], start: int, limit: int, length: Length
) -> list[ChatMessage]:
    """A turn behind the head and as many of the turns before it as there is room for."""
    part = [*head, *turns[start]]
    alone = length(part)
    if alone > limit:
        raise TurnTooLong(alone)
    room = alone + int((limit - alone) * _CONTEXT_SHARE)
    before: list[ChatMessage] = []
    for turn in reversed(turns[:start]):
        before = [*(told._replace(learned=False) for told in turn), *before]
        longer = [*head, *before, *turns[start]]
        if length(longer) > room:
            break
        part = longer
    return part
