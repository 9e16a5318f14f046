"""Commissions for problems that are still to be written: a topic, and examples from a bank or a file."""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import islice
from random import Random

from soliloquy.problems.sources import ProblemSource
from soliloquy.recipes.programs import solution_program
from soliloquy.runtime.seeds import digest, draw
from soliloquy.v1.conversation_pb2 import Commission, Example, Problem

# Examples in the prompt, and how many draws of them a run takes turns with: a cache of prefixes holds them all.
EXAMPLES = 8
_DRAWS = 16
# Candidates drawn for them; a problem without a calculation is no example.
_DRAWN = 5 * EXAMPLES
# The number of a bank's problems that examples are drawn from.
_POOL = 400
# The part of a problem's source behind the name of its bank or file.
_PLACE = re.compile("[/:].*")


@dataclass(frozen=True, kw_only=True)
class CommissionSource:
    """Commissions problems, each with a random topic; the same ones for the same seed."""

    examples: ProblemSource
    # An empty topic leaves the choice to the writer.
    topics: Sequence[str]
    # Returns the labels with which the recipe marks a problem as still to be written.
    commissioned: Callable[[Commission], bytes]
    # Commissions never end.
    count: None = None
    grade: int = 0
    operations: Sequence[str] = ()
    _worked_out: dict[tuple[int, int], Example | None] = field(default_factory=dict, repr=False, compare=False)

    @cached_property
    def digest(self) -> str:
        return digest("commissions", self.examples.digest, *self.topics, self.grade, *self.operations)

    def problem(self, run_seed: int, ordinal: int) -> Problem:
        topic = draw(run_seed, "commission", ordinal).choice(self.topics)
        examples = self._shown(run_seed, draw(run_seed, "examples", ordinal % _DRAWS))
        commission = Commission(topic=topic, grade=self.grade, operations=self.operations, examples=examples)
        return Problem(
            id=digest("commission", self.digest, run_seed, ordinal),
            topic=topic,
            source=f"{self._origin}/commission#{ordinal}",
            labels=self.commissioned(commission),
        )

    @cached_property
    def _origin(self) -> str:
        """Returns the name of the bank or the file that the examples come from."""
        return _PLACE.sub("", self.examples.problem(0, 0).source)

    def _shown(self, run_seed: int, choice: Random) -> list[Example]:
        count = _POOL if self.examples.count is None else self.examples.count
        drawn = (self._example(run_seed, place) for place in choice.sample(range(count), min(count, _DRAWN)))
        return list(islice(filter(None, drawn), EXAMPLES))

    def _example(self, run_seed: int, place: int) -> Example | None:
        """Returns None for a problem without a calculation; computes each example once."""
        if (run_seed, place) not in self._worked_out:
            problem = self.examples.problem(run_seed, place)
            program = solution_program(problem.solution, problem.steps)
            example = Example(question=problem.question, solution=program) if program else None
            self._worked_out[run_seed, place] = example
        return self._worked_out[run_seed, place]
