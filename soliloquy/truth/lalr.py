"""Runs a compiled LALR table, and reads only as far as a sentence of its grammar goes."""

import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

Meaning = Callable[[Sequence[Any]], Any]
# Nothing goes on behind these unless a letter or a digit follows; tells the ends of most sentences soonest.
_CLAUSE_ENDS = frozenset(["", ".", ",", ";", ":", "!", "?", "\n"])


class Token(NamedTuple):
    name: str
    text: str
    start: int
    end: int


class Parser:
    """`patterns` are tried in their order; what has no meaning stands for its parts."""

    def __init__(
        self, table: Mapping[str, Any], patterns: Mapping[str, re.Pattern[str]], meanings: Mapping[str, Meaning]
    ) -> None:
        self._states: Sequence[Mapping[str, int]] = table["states"]
        self._rules = [(meanings.get(rule, _parts), size, origin) for rule, size, origin in table["rules"]]
        self._starts, self._ends = table["starts"], table["ends"]
        self._fitting = [[one for one in patterns.items() if one[0] in actions] for actions in self._states]

    def longest(self, start: str, text: str, at: int) -> Any:
        """Returns what the longest sentence from a place means; None if none begins there."""
        states, values = [self._starts[start]], list[Any]()
        tokens: list[Token] = []
        token = self._next(states[-1], text, at)
        while token and self._feed(states, values, token):
            tokens.append(token)
            token = self._next(states[-1], text, token.end)
        is_whole = token is None
        while tokens:
            if is_whole and self._finish(states, values, self._ends[start]):
                return values[0]
            # The text went on as a longer sentence does, and was none.
            tokens = tokens[:-1] if is_whole else tokens
            states, values, is_whole = [self._starts[start]], [], True
            for one in tokens:
                self._feed(states, values, one)
        return None

    def _next(self, state: int, text: str, at: int) -> Token | None:
        if text[at : at + 1] in _CLAUSE_ENDS and not text[at + 1 : at + 2].isalnum():
            return None
        for name, pattern in self._fitting[state]:
            if (found := pattern.match(text, at)) and found.end() > at:
                return Token(name, found[0], at, found.end())
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
        meant = meaning(values[-size:])
        del states[-size:], values[-size:]
        values.append(meant)
        states.append(self._states[states[-1]][origin])


def _parts(parts: Sequence[Any]) -> Any:
    return parts[0] if len(parts) == 1 else parts
