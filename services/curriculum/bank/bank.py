"""The banks of problems that come with Soliloquy: a folder of families each, and endless draws from it."""

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache, cached_property
from pathlib import Path

from soliloquy.v1.conversation_pb2 import Problem

from services.curriculum.bank.family import Family, load_family
from services.curriculum.book import ProblemBook
from services.runtime.seeds import seed

FAMILIES = Path(__file__).with_name("families")


@dataclass(frozen=True, kw_only=True)
class Bank:
    name: str
    families: Sequence[Family]
    # SHA-256 of its files: two runs with the same digest draw the same problems.
    digest: str

    @property
    def count(self) -> None:
        """A bank has no end."""

    @cached_property
    def book(self) -> ProblemBook:
        return ProblemBook(self._recognised)

    def draw(self, number: int) -> Problem:
        """The problem of a seed; every seed has one."""
        rest, position = divmod(seed(self.name, number), len(self.families))
        family = self.families[position]
        return family.problem(family.choice(rest), source=f"{self.name}/{family.name}#{number}")

    def problem(self, run_seed: int, ordinal: int) -> Problem:
        return self.draw(seed(run_seed, "problem", ordinal))

    def _recognised(self, question: str) -> Problem | None:
        for family in self.families:
            choice = family.recognised(question)
            if choice is not None:
                return family.problem(choice, source=f"{self.name}/{family.name}")
        return None


def bank_names() -> list[str]:
    return sorted(folder.name for folder in FAMILIES.iterdir() if folder.is_dir())


@cache
def load_bank(name: str) -> Bank:
    paths = sorted((FAMILIES / name).glob("*.toml"))
    content = hashlib.sha256()
    for path in paths:
        content.update(path.name.encode() + b"\0" + path.read_bytes() + b"\0")
    return Bank(name=name, families=tuple(map(load_family, paths)), digest=content.hexdigest())
