"""Problems that are yet to be written: what each is to be about, and examples from a bank or a file."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import islice
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
# Of a problem's source: the bank or the file, and the place in it.
_ORIGIN = re.compile("[/:]")


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
        shown = self._shown(run_seed, choice)
        commission = Commission(
            topic=topic,
            grade=self.grade,
            operations=self.operations,
            examples=[
                Example(question=problem.question, solution=program_of(problem.solution, problem.steps))
                for problem in shown
            ],
        )
        origin = _ORIGIN.split(shown[0].source)[0] if shown else "nothing"
        return Problem(
            id=digest("commission", self.digest, run_seed, ordinal),
            topic=topic,
            source=f"{origin}/commission#{ordinal}",
            authorship=Authorship(commission=commission),
        )

    def _shown(self, run_seed: int, choice: Random) -> list[Problem]:
        drawn = (self.examples.problem(run_seed, ordinal) for ordinal in self._ordinals(choice))
        return list(islice((one for one in drawn if program_of(one.solution, one.steps)), EXAMPLES))

    def _ordinals(self, choice: Random) -> Iterator[int]:
        count = self.examples.count
        if count is None:
            return (choice.getrandbits(32) for _ in range(_DRAWN))
        return iter(choice.sample(range(count), min(count, _DRAWN)))
