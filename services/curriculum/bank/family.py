"""A family of problems: one piece of physics, whose words and values vary."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from soliloquy.v1 import conversation_pb2 as pb

from services.curriculum.bank.family_steps import Known, StatedStep, WorkedStep
from services.curriculum.bank.grid import Grid
from services.curriculum.bank.wording import Wording
from services.runtime.seeds import digest
from services.truth.expressions import in_brackets
from services.truth.figures import before_unit, written


@dataclass(frozen=True, kw_only=True, slots=True)
class Choice:
    """What a problem's number settles."""

    wording: Wording
    things: Mapping[str, str]
    values: Mapping[str, float]


@dataclass(frozen=True, kw_only=True, slots=True)
class Family:
    bank: str
    topic: str
    name: str
    title: str
    difficulty: int
    # None where nothing is calculated.
    tolerance: float | None
    wordings: Sequence[Wording]
    things: Mapping[str, Sequence[str]]
    givens: Mapping[str, Grid]
    constants: Mapping[str, float]
    # The unit of each given quantity and constant.
    units: Mapping[str, str]
    steps: Sequence[StatedStep | WorkedStep]
    # All of a problem but its texts and numbers; the same without the slips.
    outline: pb.Problem
    bare_outline: pb.Problem
    # How many problems it has: one for each number below.
    count: int

    def choice(self, number: int) -> Choice:
        """Reads a number as one digit for each thing there is to choose."""
        number, which = divmod(number, len(self.wordings))
        things = {}
        for slot, words in self.things.items():
            number, position = divmod(number, len(words))
            things[slot] = words[position]
        values = {}
        for symbol, grid in self.givens.items():
            number, position = divmod(number, grid.count)
            values[symbol] = grid.value(position)
        return Choice(wording=self.wordings[which], things=things, values=values)

    def number_of(self, question: str) -> int | None:
        """The number of the problem that asks so, where it is one of this family's."""
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

    def problem(self, number: int, *, slips: bool = True) -> pb.Problem:
        """The problem of a number, beyond `count` from the start again; without `slips` no mistakes are worked out."""
        number %= self.count
        choice = self.choice(number)
        known = Known(slots=dict(choice.things), values={**choice.values, **self.constants})
        for symbol, value in known.values.items():
            plain = written(value)
            known.slots[symbol] = before_unit(plain, self.units[symbol])
            known.texts[symbol] = in_brackets(plain)
        problem = pb.Problem()
        problem.CopyFrom(self.outline if slips else self.bare_outline)
        lines = [step.take(own, known, pick=number) for step, own in zip(self.steps, problem.steps, strict=True)]
        problem.source = f"{self.bank}/{self.name}#{number}"
        problem.id = digest(problem.source)
        problem.question = choice.wording.filled(known.slots)
        problem.solution = "\n".join(lines)
        if problem.tolerance:
            problem.answer.CopyFrom(problem.steps[-1].result)
        return problem
