"""Groups a sequence of messages into turns."""

import re
import tomllib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from soliloquy.dataset.exports.dialogue import Attempt, Dialogue, Exchange
from soliloquy.dataset.exports.format import ExportOptions


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


_TEXTS = {
    name: text.strip()
    for name, text in tomllib.loads(Path(__file__).with_name("prompts.toml").read_text("utf-8")).items()
}
_OURS = re.compile(
    re.escape(_TEXTS["tutor"])
    + "".join(rf"(?:\n\n{re.escape(_TEXTS[name])})?" for name in ("python", "thoughts"))
    + r"\n\n<question>\n(?P<question>.*?)\n</question>(?:\n\n<solution>\n(?P<solution>.*?)\n</solution>)?",
    re.DOTALL,
)


def prompt(dialogue: Dialogue, choice: ExportOptions) -> str:
    """Returns an empty string if prompts are left out or the problem is unknown."""
    if not choice.prompts:
        return ""
    if "prompt" in dialogue.extra:
        return str(dialogue.extra["prompt"])
    if not dialogue.question:
        return ""
    parts = [_TEXTS["tutor"]]
    if choice.hidden:
        parts.append(_TEXTS["python"])
    if choice.thoughts:
        parts.append(_TEXTS["thoughts"])
    parts.append(f"<question>\n{dialogue.question}\n</question>")
    if choice.solutions and (solution := dialogue.detailed_solution or dialogue.solution):
        parts.append(f"<solution>\n{solution}\n</solution>")
    return "\n\n".join(parts)


def read_prompt(text: str) -> dict[str, Any]:
    """Reads the problem from a system message of ours; keeps any other message verbatim."""
    if not text:
        return {}
    if ours := _OURS.fullmatch(text):
        return {"question": ours["question"], "solution": ours["solution"] or ""}
    return {"extra": {"prompt": text}}


def split_prompt(text: str) -> tuple[str, str]:
    """Splits a message into our prompt at its head, or an empty string, and the student's words."""
    ours = _OURS.match(text)
    if ours is None or not text.startswith("\n\n", ours.end()):
        return "", text
    return ours[0], text[ours.end() + 2 :]
