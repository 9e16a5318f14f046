"""Problems that are yet to be written: what each is to be about, and examples from a bank or a file."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from random import Random

from soliloquy.v1.conversation_pb2 import Authorship, Commission, Example, Problem

from services.curriculum.book import ProblemBook
from services.curriculum.problems import ProblemSource
from services.recipes.programs import program_of
from services.runtime.seeds import digest, draw

# What a model is shown before it writes.
EXAMPLES = 8
# So many are drawn for them: those that nothing calculates are none.
_DRAWN = 5 * EXAMPLES


@dataclass(frozen=True, kw_only=True)
class Commissions:
    """A topic each, at random; the same ones for the same seed."""

    examples: ProblemSource
    # An empty one leaves the choice to whoever writes.
    topics: Sequence[str]
    grade: int = 0
    operations: Sequence[str] = ()

    @property
    def count(self) -> None:
        """There is no end of them."""

    @cached_property
    def digest(self) -> str:
        return digest("commissions", self.examples.digest, *self.topics, self.grade, *self.operations)

    @property
    def book(self) -> ProblemBook:
        return self.examples.book

    def problem(self, run_seed: int, ordinal: int) -> Problem:
        choice = draw(run_seed, "commission", ordinal)
        topic = choice.choice(self.topics)
        commission = Commission(
            topic=topic, grade=self.grade, operations=self.operations, examples=self._shown(run_seed, choice)
        )
        return Problem(
            id=digest("commission", self.digest, run_seed, ordinal),
            topic=topic,
            source=f"commission#{ordinal}",
            authorship=Authorship(commission=commission),
        )

    def _shown(self, run_seed: int, choice: Random) -> list[Example]:
        shown: list[Example] = []
        for ordinal in self._ordinals(choice):
            problem = self.examples.problem(run_seed, ordinal)
            if program := program_of(problem.solution, problem.steps):
                shown.append(Example(question=problem.question, solution=program))
            if len(shown) == EXAMPLES:
                break
        return shown

    def _ordinals(self, choice: Random) -> Iterator[int]:
        count = self.examples.count
        if count is None:
            return (choice.getrandbits(32) for _ in range(_DRAWN))
        return iter(choice.sample(range(count), min(count, _DRAWN)))
