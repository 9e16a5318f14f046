"""Groups a sequence of messages into turns."""

from collections.abc import Mapping, Sequence
from typing import Any

from soliloquy.dataset.exports.dialogue import Attempt, Exchange


class Transcript:
    """A message that does not fit into the current turn begins the next one."""

    def __init__(self) -> None:
        # The recipe that the replies are of, if they say so.
        self.recipe = ""
        self._turns: list[Exchange] = []
        self._current: dict[str, Any] = {}

    def student(self, text: str, **known: Any) -> None:
        self._finish()
        self._current = {"student": text, **known}

    def decided(self, description: str | None) -> None:
        """The tutor calculates; it does not if there is no description."""
        if {"reply", "description"} & self._current.keys():
            self._finish()
        if description is not None:
            self._current["description"] = description

    def program(self, description: str | None, attempt: Attempt) -> None:
        """`description` is None for a repeated attempt."""
        if description is not None or "reply" in self._current:
            self.decided(description or "")
        self._current.setdefault("description", "")
        self._current.setdefault("attempts", []).append(attempt)

    def output(self, text: str) -> None:
        attempts: list[Attempt] = self._current["attempts"]
        attempts[-1] = attempts[-1]._replace(output=text)

    def reply(self, fields: Mapping[str, Any], recipe: str = "", *, calculated: bool = True) -> None:
        """`calculated` is False for a reply that belongs to no calculation."""
        self.recipe = recipe or self.recipe
        if "reply" in self._current or ("description" in self._current and not calculated):
            self._finish()
        labels = {**self._current.get("labels", {}), **fields.get("labels", {})}
        self._current |= {**fields, "labels": labels}

    @property
    def awaits_output(self) -> bool:
        return "attempts" in self._current and "reply" not in self._current

    def turns(self) -> Sequence[Exchange]:
        self._finish()
        return self._turns

    def _finish(self) -> None:
        if self._current:
            self._turns.append(Exchange(**self._current))
            self._current = {}
