"""Reads the program out of a problem and the change that a student proposes out of a message; holds the limits."""

import re
import tomllib
from pathlib import Path
from textwrap import indent
from typing import Any, NamedTuple

from soliloquy.v1.conversation_pb2 import Conversation, Problem

POLICY: dict[str, Any] = tomllib.loads(Path(__file__).with_name("rules.toml").read_text("utf-8"))
_FENCED = re.compile(r"```python\n(.*?)\n?```", re.DOTALL)
_CHANGE = re.compile(r"line (\d+)[^`]*`([^`\n]+)`", re.IGNORECASE)
_HARNESS = """\
# The student's program, with the change that the student proposes.
result, error = None, ""
try:
{program}
except Exception as raised:
    error = f"{{type(raised).__name__}}: {{raised}}"
is_right = result == {expected:g}
"""
RESULTS = ["result", "error", "is_right"]


class Change(NamedTuple):
    line: int
    code: str


def change_in(text: str) -> Change | None:
    """Returns the change that a text proposes: a line's number, then its code in backticks."""
    found = _CHANGE.search(text)
    return Change(int(found[1]), found[2].strip()) if found else None


def program_of(problem: Problem) -> list[str]:
    """Returns the lines of the program; empty if the question holds none."""
    found = _FENCED.search(problem.question)
    return found[1].splitlines() if found else []


def fix_of(problem: Problem) -> Change | None:
    return change_in(problem.solution)


def wrong_changes(problem: Problem) -> list[str]:
    return [slip.working for step in problem.steps for slip in step.slips]


def harness(conversation: Conversation) -> str:
    """Returns the code that runs the program as the student has it after the latest message."""
    problem = conversation.problem
    lines = program_of(problem)
    change = change_in(conversation.turns[-1].student.text)
    if change and 1 <= change.line <= len(lines):
        before = lines[change.line - 1]
        lines[change.line - 1] = before[: len(before) - len(before.lstrip())] + change.code
    return _HARNESS.format(program=indent("\n".join(lines), "    "), expected=problem.answer.value)
