"""The problems of a run: a bank by its name, or a file by its path."""

import shlex
from pathlib import Path
from typing import Protocol

from soliloquy.problems.bank.bank import bank_names, load_bank
from soliloquy.problems.files.problem_file import FaultyLine, ProblemFile, read_problems
from soliloquy.runtime.failure import Failure, did_you_mean
from soliloquy.v1.conversation_pb2 import Problem


class EnglishBank(Failure):
    """Problems in another language are wanted from a bank."""


class ProblemSource(Protocol):
    @property
    def digest(self) -> str:
        """SHA-256 of the bank or the file: part of a run's identity."""

    @property
    def count(self) -> int | None:
        """The number of problems; None if they never end."""

    def problem(self, run_seed: int, ordinal: int) -> Problem:
        """Returns the problem at a place in a run: the same for every call, on every machine."""


def is_file(spec: str) -> bool:
    return spec not in bank_names()


def problem_source(spec: str, language: str = "") -> ProblemSource:
    """Opens a bank, which is English, or a file in a language; raises Failure."""
    if not is_file(spec):
        if language:
            raise EnglishBank(f"the problems of the bank {spec} are English: use a file in the language {language}")
        return load_bank(spec)
    path = Path(spec)
    if not path.exists():
        near = did_you_mean(spec, [*bank_names(), *(str(each) for each in path.parent.glob("*.jsonl"))])
        raise Failure(f"{spec!r} is neither a file nor a bank ({', '.join(bank_names())}){near}")
    if path.is_dir():
        raise Failure(f"{spec} is a folder: use a JSONL file, or a bank: {', '.join(bank_names())}")
    try:
        return ProblemFile(problems=read_problems(path, language))
    except FaultyLine as bad:
        raise FaultyLine(f"{bad}; soliloquy problems check {shlex.quote(spec)} lists all faults") from bad
