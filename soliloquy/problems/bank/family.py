"""A family of problems: one question whose words and values vary."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from soliloquy.problems.bank.family_file import GivenTable
from soliloquy.problems.bank.family_steps import StatedStep, WorkedStep, Worksheet
from soliloquy.problems.bank.wording import QuestionWording
from soliloquy.runtime.seeds import digest
from soliloquy.truth.number_format import format_number
from soliloquy.v1 import conversation_pb2 as pb


@dataclass(frozen=True, kw_only=True, slots=True)
class Grid:
    """The values from `low` on, in steps of `step`; each is computed when drawn."""

    low: float
    step: float
    count: int

    def value(self, position: int) -> float:
        return float(f"{self.low + position * self.step:.10g}")

    def position_of(self, text: str) -> int | None:
        """Returns the position of a value by its written form; None if it is not on the grid."""
        try:
            position = round((float(text) - self.low) / self.step)
        except (ValueError, OverflowError):
            return None
        return position if 0 <= position < self.count and format_number(self.value(position)) == text else None


def grid(given: GivenTable) -> Grid:
    return Grid(low=given.low, step=given.step, count=round((given.high - given.low) / given.step) + 1)


@dataclass(frozen=True, kw_only=True, slots=True)
class Family:
    bank: str
    topic: str
    name: str
    title: str
    difficulty: int
    # None if the family calculates nothing.
    tolerance: float | None
    wordings: Sequence[QuestionWording]
    things: Mapping[str, Sequence[str]]
    givens: Mapping[str, Grid]
    constants: Mapping[str, float]
    # The unit of each given quantity and constant.
    units: Mapping[str, str]
    steps: Sequence[StatedStep | WorkedStep]
    # A problem without its texts and numbers.
    outline: pb.Problem
    # The number of problems: one for each number below it.
    count: int

    def number_of(self, question: str) -> int | None:
        """Returns the number of the problem with this question; None if it is not of this family."""
        for which, candidate in enumerate(self.wordings):
            slots = candidate.slots_of(question)
            if slots is None:
                continue
            number, size = which, len(self.wordings)
            for slot, words in self.things.items():
                number += size * words.index(slots[slot])
                size *= len(words)
            for symbol, grid in self.givens.items():
                position = grid.position_of(slots[symbol])
                if position is None:
                    break
                number += size * position
                size *= grid.count
            else:
                return number
        return None

    def board(self, number: int) -> tuple[QuestionWording, Worksheet]:
        """Decodes a problem's number as a mixed-radix number, one digit per choice; returns wording and worksheet."""
        rest, which = divmod(number, len(self.wordings))
        board = Worksheet()
        for slot, words in self.things.items():
            rest, position = divmod(rest, len(words))
            board.text[slot] = words[position]
        for symbol, grid in self.givens.items():
            rest, position = divmod(rest, grid.count)
            board.write(symbol, grid.value(position), self.units[symbol])
        for symbol, value in self.constants.items():
            board.write(symbol, value, self.units[symbol])
        for step in self.steps:
            if isinstance(step, WorkedStep):
                step.work(board, pick=number)
        return self.wordings[which], board

    def source(self, number: int) -> str:
        return f"{self.bank}/{self.name}#{number}"

    def problem(self, number: int) -> pb.Problem:
        """Returns the problem of a number, modulo `count`."""
        number %= self.count
        wording, board = self.board(number)
        problem = pb.Problem()
        problem.CopyFrom(self.outline)
        for step, own in zip(self.steps, problem.steps, strict=True):
            step.fill(own, board)
        problem.source = self.source(number)
        problem.id = digest(problem.source)
        problem.question = wording.filled(board.text)
        problem.solution = "\n".join(step.line(board) for step in self.steps)
        if problem.tolerance:
            problem.answer.CopyFrom(problem.steps[-1].result)
        return problem
