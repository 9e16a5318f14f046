"""The problems of a run: a bank by its name, or a file by its path."""

from pathlib import Path
from typing import Protocol

from soliloquy.problems.bank.bank import bank_names, load_bank
from soliloquy.problems.book import ProblemBook
from soliloquy.problems.files.problem_file import ProblemFile, read_problems
from soliloquy.runtime.failure import Failure
from soliloquy.v1.conversation_pb2 import Problem


class ProblemSource(Protocol):
    @property
    def digest(self) -> str:
        """SHA-256 of the bank or the file: part of a run's identity."""

    @property
    def count(self) -> int | None:
        """The number of problems; None if they never end."""

    @property
    def book(self) -> ProblemBook: ...

    def problem(self, run_seed: int, ordinal: int) -> Problem:
        """Returns the problem at a place in a run: the same for every call, on every machine."""


def problem_source(spec: str) -> ProblemSource:
    if spec in bank_names():
        return load_bank(spec)
    path = Path(spec)
    if not path.exists():
        raise Failure(f"{spec!r} is neither an existing file nor a bank; the banks are: {', '.join(bank_names())}")
    return ProblemFile(problems=read_problems(path))
