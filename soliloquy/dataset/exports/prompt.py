"""The system message of an exported conversation: the tutor's instructions and the problem."""

import re
import tomllib
from pathlib import Path
from typing import Any

from soliloquy.dataset.exports.dialogue import Dialogue
from soliloquy.dataset.exports.format import ExportOptions

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
