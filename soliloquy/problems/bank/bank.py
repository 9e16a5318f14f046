"""The banks of problems that ship with Soliloquy: a folder of families per topic, and endless draws."""

import hashlib
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache, cached_property
from pathlib import Path
from typing import NamedTuple

from soliloquy.problems.bank.family import SLOT, Family, load_family
from soliloquy.problems.bank.family_file import BadFamily, read_questions
from soliloquy.problems.book import as_one_line
from soliloquy.runtime.seeds import seed
from soliloquy.v1.conversation_pb2 import Problem

FAMILIES = Path(__file__).with_name("families")


@dataclass(frozen=True, kw_only=True)
class Bank:
    name: str
    # The file of each family by its name, topic by topic. A family is read on first use.
    files: Mapping[str, Path]
    # SHA-256 of the files: two runs with the same digest draw the same problems.
    digest: str
    # A bank never ends.
    count: None = None

    @cached_property
    def names(self) -> Sequence[str]:
        return tuple(self.files)

    @property
    def by_topic(self) -> Mapping[str, Sequence[str]]:
        found: dict[str, list[str]] = {}
        for name, path in self.files.items():
            found.setdefault(path.parent.name, []).append(name)
        return found

    def family(self, name: str) -> Family:
        return _family(self.files[name])

    def draw(self, number: int) -> Problem:
        """Returns the problem of a seed; every seed has one."""
        return self._at(seed(self.name, number))

    def problem(self, run_seed: int, ordinal: int) -> Problem:
        return self._at(seed(self.name, run_seed, "problem", ordinal))

    def _at(self, number: int) -> Problem:
        rest, position = divmod(number, len(self.names))
        return self.family(self.names[position]).problem(rest)

    @cached_property
    def _clues(self) -> Sequence[tuple[str, str]]:
        """Returns, for each wording, the longest text that all its questions contain, and its family."""
        return [
            (max(SLOT.split(text)[::2], key=len), name)
            for name, path in self.files.items()
            for text in read_questions(path)
        ]

    def recognise(self, question: str) -> Problem | None:
        """Returns the problem with this question; None if it is none of the bank's."""
        question = as_one_line(question)
        for name in dict.fromkeys(name for clue, name in self._clues if clue in question):
            family = self.family(name)
            number = family.number_of(question)
            if number is not None:
                return family.problem(number)
        return None


_family = cache(load_family)


def bank_names() -> list[str]:
    return sorted(folder.name for folder in FAMILIES.iterdir() if folder.is_dir())


@cache
def load_bank(name: str) -> Bank:
    return bank_in(FAMILIES / name)


def bank_in(folder: Path) -> Bank:
    """Reads a bank from a folder that has one folder per topic."""
    files: dict[str, Path] = {}
    content = hashlib.sha256()
    for path in sorted(folder.glob("*/*.toml")):
        if path.stem in files:
            raise BadFamily(f"{path}: the bank has another family of this name: {files[path.stem]}")
        files[path.stem] = path
        content.update(f"{path.parent.name}/{path.name}".encode() + b"\0" + path.read_bytes() + b"\0")
    return Bank(name=folder.name, files=files, digest=content.hexdigest())


class CatalogueEntry(NamedTuple):
    topic: str
    # From 1, the easiest, to 3.
    difficulty: int


@cache
def catalogue(bank: str) -> Mapping[str, CatalogueEntry]:
    """Returns the families by name; none for a name that is no bank's."""
    # The name may come from a dataset's text.
    files = load_bank(bank).files if bank in bank_names() else {}
    return {
        name: CatalogueEntry(path.parent.name, tomllib.loads(path.read_text("utf-8"))["difficulty"])
        for name, path in files.items()
    }
