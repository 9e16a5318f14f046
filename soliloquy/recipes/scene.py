"""The record of a request, as a speaker reads that answers it by rule."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from random import Random
from typing import Any

from soliloquy.recipes.codegen import has_run
from soliloquy.recipes.templates import one_line
from soliloquy.runtime.model import ModelRefused
from soliloquy.runtime.values import shown
from soliloquy.v1.conversation_pb2 import Problem, Turn
from soliloquy.v1.model_pb2 import Record


@dataclass(frozen=True, kw_only=True)
class Scene:
    prompt: str
    record: Record
    # Returns a problem of a bank for each number, for prompts that ask for a new one.
    problems: Callable[[int], Problem] | None = None
    # The values that the speaker reads otherwise than they were calculated, by name.
    misread: dict[str, str] = field(default_factory=dict)

    @property
    def problem(self) -> Problem:
        return self.record.problem

    def slot(self, name: str) -> str:
        """Returns what the prompt's template was filled in with; empty if it has no such slot."""
        return self.record.slots.get(name, "")

    @property
    def turn(self) -> Turn:
        """Returns the turn that is to be answered."""
        if not self.record.turns:
            raise ModelRefused(f"the request for {self.prompt} has no record of its conversation: ask a model instead")
        return self.record.turns[-1]

    def messages(self, *, student: bool) -> Sequence[str]:
        said = (turn.student.text if student else turn.tutor.text for turn in self.record.turns)
        return [one_line(text) for text in said if text]

    @cached_property
    def output(self) -> dict[str, str]:
        """Returns what was calculated, as Python prints it: by a program, or before the conversation; else nothing."""
        calculation = self.turn.calculation
        if has_run(calculation) and not calculation.overruled:
            values = calculation.attempts[-1].execution.values
            return {value.name: shown(value.value) for value in values} | self.misread
        settled = (calculation.settled_output or self.slot("output")).splitlines()
        lines = (line.partition(" = ") for line in settled)
        return {name: value for name, _, value in lines} | self.misread if settled else {}

    def draw_problem(self, rng: Random) -> Problem:
        if self.problems is None:
            raise ModelRefused(
                "the scripted model needs a bank to write problems; start it with one, or use another engine"
            )
        return self.problems(rng.getrandbits(62))


# Answers a request by rule: the same random state gives the same answer.
Speaker = Callable[[Scene, Random], str]
# Puts faults into the answer to a request, at rates.
Spoil = Callable[[str, Scene, Any, Random], str]
