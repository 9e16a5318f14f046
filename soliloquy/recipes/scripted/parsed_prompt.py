"""Reads the state of a conversation from the tagged sections of a prompt."""

import re
from collections.abc import Callable, Mapping
from copy import copy
from dataclasses import dataclass
from functools import cached_property, lru_cache
from random import Random
from typing import Protocol

from soliloquy.runtime.model import ModelRefused
from soliloquy.v1.conversation_pb2 import Problem, Step

_ATTRIBUTE = re.compile(r'(\w+)\s*=\s*"([^"]*)"')
_SPEAKER = re.compile(r"\s*(Student|Tutor)(?:bot)?\s*:\s*", re.IGNORECASE)
_STEP = re.compile(r"Step being worked on:\s*(\d+)", re.IGNORECASE)
_WRONG = re.compile(r"Wrong answers at this step:\s*(\d+)", re.IGNORECASE)
_WORDS = re.compile(r"Keep each reply under (\d+) words", re.IGNORECASE)
_OUTPUT = re.compile(r"^\s*(\w+)\s*=\s*(.*?)\s*$", re.MULTILINE)


class KnownProblems(Protocol):
    """Looks problems up by their questions."""

    @property
    def draw(self) -> Callable[[int], Problem] | None:
        """Returns a problem for each number; None if the book holds only given problems."""

    def recognise(self, question: str) -> Problem | None: ...


@dataclass(frozen=True, kw_only=True, slots=True)
class SpokenLine:
    student: bool
    text: str


def problem_record(problem: Problem) -> bytes:
    """Returns the record of a problem as a request holds it: what a model has sampled for it is no part of that."""
    record = Problem()
    record.CopyFrom(problem)
    record.ClearField("enrichment")
    return record.SerializeToString(deterministic=True)


# Every prompt of the conversations about a problem comes with it.
@lru_cache(1024)
def _recorded(serialised: bytes) -> Problem:
    return Problem.FromString(serialised)


class ParsedPrompt:
    """One request's prompt. Raises ModelRefused if it lacks a section that the state needs."""

    def __init__(self, prompt: str, text: str, book: KnownProblems, record: bytes = b"") -> None:
        """`record` is the serialised problem at hand, whose steps may be others than those in the book."""
        self._record = record
        self.prompt = prompt
        self.text = text
        self._book = book

    def has(self, tag: str) -> bool:
        return self._find(tag) is not None

    def section(self, tag: str) -> str:
        return self._needed(tag)[1]

    def attributes(self, tag: str) -> Mapping[str, str]:
        return dict(_ATTRIBUTE.findall(self._needed(tag)[0]))

    @property
    def persona(self) -> str:
        """Empty if the prompt names no persona."""
        return self.attributes("persona").get("name", "") if self.has("persona") else ""

    @property
    def tutor_persona(self) -> str:
        """Empty if the prompt names none."""
        return self.attributes("tutor_persona").get("name", "") if self.has("tutor_persona") else ""

    @cached_property
    def problem(self) -> Problem:
        question = self.section("question")
        problem = self._book.recognise(question)
        if problem is None:
            raise ModelRefused(
                f"the scripted model does not know this problem: "
                f"{question[:120]!r}; use another engine for problems of your own"
            )
        recorded = _recorded(self._record)
        is_at_hand = recorded.steps and recorded.question.split() == question.split()
        return recorded if is_at_hand else problem

    def draw_problem(self, rng: Random) -> Problem:
        """Draws a problem from the bank, for prompts that ask for a new one."""
        if self._book.draw is None:
            raise ModelRefused(
                "the scripted model needs a bank to write problems; start it with one, or use another engine"
            )
        return self._book.draw(rng.getrandbits(62))

    @cached_property
    def conversation(self) -> list[SpokenLine]:
        """The messages so far; a line without a speaker continues the message above it."""
        lines: list[SpokenLine] = []
        for row in self.section("conversation").splitlines():
            speaker = _SPEAKER.match(row)
            if speaker:
                student = speaker.group(1).lower() == "student"
                lines.append(SpokenLine(student=student, text=row[speaker.end() :].strip()))
            elif row.strip() and lines:
                lines[-1] = SpokenLine(student=lines[-1].student, text=f"{lines[-1].text} {row.strip()}")
        return lines

    def messages(self, *, student: bool) -> list[str]:
        return [line.text for line in self.conversation if line.student == student]

    @cached_property
    def latest_reply(self) -> str:
        """The student's message that the tutor is about to answer."""
        if said := self.messages(student=True):
            return said[-1]
        raise ModelRefused(f"the prompt {self.prompt} has no line of the student in its <conversation> section")

    @property
    def opening(self) -> bool:
        return all(line.student for line in self.conversation)

    @cached_property
    def step(self) -> Step:
        """The step that the student's latest message works on."""
        number = self._count(_STEP, "Step being worked on: 2 of 4")
        if not 1 <= number <= len(self.problem.steps):
            raise ModelRefused(
                f"the prompt {self.prompt} is at step {number} of a problem with {len(self.problem.steps)} steps"
            )
        return self.problem.steps[number - 1]

    def at(self, step: Step) -> "ParsedPrompt":
        """Returns the prompt as if the student's latest message worked on another step."""
        moved = copy(self)
        moved.step = step
        return moved

    @property
    def last_step(self) -> bool:
        return self.step.number == self.problem.steps[-1].number

    @property
    def wrong_before(self) -> int:
        """Wrong answers at this step before the latest message."""
        return self._count(_WRONG, "Wrong answers at this step: 1")

    @cached_property
    def output(self) -> Mapping[str, str]:
        """The calculation's variables with their values as Python prints them."""
        return dict(_OUTPUT.findall(self.section("output")))

    @cached_property
    def word_limit(self) -> int:
        """The limit on a reply's length in words; 0 if the prompt sets none."""
        limit = _WORDS.search(self.text)
        return int(limit.group(1)) if limit else 0

    def _find(self, tag: str) -> tuple[str, str] | None:
        """Returns the opening tag and the body of the last such section; instructions may mention the tag earlier."""
        end = self.text.rfind(f"</{tag}>")
        if end < 0:
            return None
        start = max(self.text.rfind(f"<{tag}>", 0, end), self.text.rfind(f"<{tag} ", 0, end))
        inside = self.text.find(">", start, end) + 1
        if start < 0 or inside == 0:
            return None
        return self.text[start:inside], self.text[inside:end].strip()

    def _needed(self, tag: str) -> tuple[str, str]:
        found = self._find(tag)
        if found is None:
            raise ModelRefused(
                f"the prompt {self.prompt} has no <{tag}> section; "
                "the scripted engine reads the problem from these tags"
            )
        return found

    def _count(self, pattern: re.Pattern[str], example: str) -> int:
        progress = self.section("progress")
        found = pattern.search(progress)
        if found is None:
            raise ModelRefused(f"the <progress> section of {self.prompt} has no line like {example!r}: {progress!r}")
        return int(found.group(1))


# Answers a prompt by rule: the same random state gives the same answer.
Speaker = Callable[[ParsedPrompt, Random], str]
