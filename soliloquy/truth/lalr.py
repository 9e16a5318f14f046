"""Runs a compiled LALR table, and reads only as far as a sentence of its grammar goes."""

import re
from collections.abc import Callable, Mapping, Sequence, Set
from functools import lru_cache
from itertools import groupby
from typing import Any, NamedTuple

from soliloquy.truth.patterns import lazy_pattern

Meaning = Callable[[Sequence[Any]], Any]
# Nothing goes on behind these unless a letter or a digit follows; tells the ends of most sentences soonest.
_CLAUSE_ENDS = frozenset(["", ".", ",", ";", ":", "!", "?", "\n"])


class Token(NamedTuple):
    name: str
    text: str
    start: int
    end: int


class Parser:
    """A rule without a meaning stands for its parts.

    The patterns of `terminals` are tried in their order, neighbours as one pattern; it is compiled for many states, so
    the `large` ones keep a pattern of their own.
    """

    def __init__(
        self,
        table: Mapping[str, Any],
        terminals: Mapping[str, str],
        meanings: Mapping[str, Meaning],
        large: Set[str],
    ) -> None:
        self._states: Sequence[Mapping[str, int]] = table["states"]
        self._rules = [(meanings.get(rule), size, origin) for rule, size, origin in table["rules"]]
        self._starts, self._ends = table["starts"], table["ends"]
        groups = {name: f"(?P<{name}>{pattern})" for name, pattern in terminals.items()}
        self._fitting = [
            [
                _pattern("|".join(groups[name] for name in run))
                for _, run in groupby(filter(actions.__contains__, groups), lambda name: name if name in large else "")
            ]
            for actions in self._states
        ]

    def longest(self, start: str, text: str, at: int) -> Any:
        """Returns what the longest sentence from a place means; None if none begins there."""
        first = self._starts[start]
        if (token := self._next(first, text, at)) is None:
            return None
        states, values, tokens = [first], list[Any](), list[Token]()
        while token and self._feed(states, values, token):
            tokens.append(token)
            token = self._next(states[-1], text, token.end)
        is_whole = token is None
        while tokens:
            if is_whole and self._finish(states, values, self._ends[start]):
                return values[0]
            # The text went on as a longer sentence does, and was none.
            tokens = tokens[:-1] if is_whole else tokens
            states, values, is_whole = [first], [], True
            for one in tokens:
                self._feed(states, values, one)
        return None

    def _next(self, state: int, text: str, at: int) -> Token | None:
        if text[at : at + 1] in _CLAUSE_ENDS and not text[at + 1 : at + 2].isalnum():
            return None
        for pattern in self._fitting[state]:
            if found := pattern.match(text, at):
                return Token(str(found.lastgroup), found[0], at, found.end())
        return None

    def _feed(self, states: list[int], values: list[Any], token: Token) -> bool:
        while (action := self._states[states[-1]].get(token.name)) is not None and action < 0:
            self._reduce(states, values, action)
        if action is None:
            return False
        states.append(action)
        values.append(token)
        return True

    def _finish(self, states: list[int], values: list[Any], end: int) -> bool:
        while states[-1] != end:
            action = self._states[states[-1]].get("$END")
            if action is None:
                return False
            self._reduce(states, values, action)
        return True

    def _reduce(self, states: list[int], values: list[Any], action: int) -> None:
        meaning, size, origin = self._rules[-action - 1]
        if meaning or size > 1:
            values[-size:] = [meaning(values[-size:]) if meaning else values[-size:]]
        del states[-size:]
        states.append(self._states[states[-1]][origin])


@lru_cache(256)
def _pattern(text: str) -> re.Pattern[str]:
    return lazy_pattern(text)
