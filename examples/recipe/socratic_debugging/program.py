"""Reads programs and changes to them out of texts, and draws the change that a student proposes."""

import re
import tomllib
from pathlib import Path
from textwrap import indent
from typing import Any, NamedTuple

from socratic_debugging.labels_pb2 import BugKind
from soliloquy.runtime.seeds import draw
from soliloquy.v1.conversation_pb2 import Conversation, Intent, Problem

POLICY: dict[str, Any] = tomllib.loads(Path(__file__).with_name("rules.toml").read_text("utf-8"))
# The topics of problems.
KINDS = {name.removeprefix("BUG_KIND_").lower(): name for name in BugKind.keys()[1:]}
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

    def __str__(self) -> str:
        return f"line {self.line}: `{self.code}`"


def change_in(text: str) -> Change | None:
    """Returns the change that a text proposes: a line's number, then its code in backticks."""
    found = _CHANGE.search(text)
    return Change(int(found[1]), found[2].strip()) if found else None


def program_of(problem: Problem) -> list[str]:
    """Returns the lines of the program; empty if the question holds none."""
    found = _FENCED.search(problem.question)
    return found[1].splitlines() if found else []


def unfit(problem: Problem) -> str:
    """Returns why nobody can talk about a problem; empty if one can."""
    if not (program_of(problem) and change_in(problem.solution)):
        return "no program with a fix of one line"
    return "" if problem.topic in KINDS else f"the topic {problem.topic!r} is none of {', '.join(KINDS)}"


def drawn(conversation: Conversation, number: int) -> tuple[Intent, Change | None]:
    """Returns whether the message of a turn is wrong, and the change that it proposes; the model does not decide."""
    fix = change_in(conversation.problem.solution)
    if number == 1 or not fix:
        return Intent.INTENT_OPENING, None
    # The last step of a problem from a file is its answer, with slips of another kind.
    slips = [slip.working for step in conversation.problem.steps[:1] for slip in step.slips]
    choice = draw(conversation.run.seed, conversation.id, number, "intent")
    if number - 2 < len(slips) and choice.random() < POLICY["student"]["wrong_share"]:
        return Intent.INTENT_WRONG, Change(fix.line, slips[number - 2])
    return Intent.INTENT_RIGHT, fix


def harness(conversation: Conversation) -> str:
    """Returns the code that runs the program as the student has it after the latest message."""
    problem = conversation.problem
    lines = program_of(problem)
    change = change_in(conversation.turns[-1].student.text)
    if change and 1 <= change.line <= len(lines):
        before = lines[change.line - 1]
        lines[change.line - 1] = before[: len(before) - len(before.lstrip())] + change.code
    return _HARNESS.format(program=indent("\n".join(lines), "    "), expected=problem.answer.value)
