"""Turns from messages that come one after the other."""

from collections.abc import Mapping, Sequence
from typing import Any

from soliloquy.dataset.exports.dialogue import Attempt, Exchange


class Transcript:
    """A message that cannot be in the turn at hand begins the next one."""

    def __init__(self) -> None:
        self._turns: list[Exchange] = []
        self._at_hand: dict[str, Any] = {}

    def student(self, text: str) -> None:
        self._finish()
        self._at_hand["student"] = text

    def program(self, description: str | None, attempt: Attempt) -> None:
        """A further try at a program has no description of its own."""
        if "reply" in self._at_hand or (description is not None and "description" in self._at_hand):
            self._finish()
        self._at_hand.setdefault("description", description or "")
        self._at_hand.setdefault("attempts", []).append(attempt)

    def output(self, text: str) -> None:
        """Of the last program."""
        attempts: list[Attempt] = self._at_hand["attempts"]
        attempts[-1] = attempts[-1]._replace(output=text)

    def reply(self, fields: Mapping[str, Any]) -> None:
        """The text and whatever else is known of it."""
        if "reply" in self._at_hand:
            self._finish()
        self._at_hand |= fields

    @property
    def awaits_output(self) -> bool:
        return "attempts" in self._at_hand and "reply" not in self._at_hand

    def turns(self) -> Sequence[Exchange]:
        self._finish()
        return self._turns

    def _finish(self) -> None:
        if self._at_hand:
            self._turns.append(Exchange(**self._at_hand))
            self._at_hand = {}
