"""Keeps how endpoints want to be asked and how their models answer, for all processes of a run and its resumption."""

import contextlib
import functools
import json
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

from soliloquy.runtime.model.dialects import Dialect, dialects

# The file's name in the folder of a run.
FILE = "endpoints.jsonl"

# The dialect that an endpoint's list of models tells; a parameter that it refuses; "DIGEST FORM", the form of a schema;
# whether the model thinks in its answers without a mark at the beginning: "yes" or "no".
Kind = Literal["dialect", "without", "form", "thinks_first"]


@dataclass(slots=True)
class Agreement:
    """How an endpoint wants to be asked for a model, and how the model answers."""

    # Identifies the endpoint, the model and their settings in the file.
    name: str
    dialect: Dialect
    # How the settings want schemas enforced.
    schema: str
    # Parameters to leave out.
    without: frozenset[str]
    # A file of findings that other processes share.
    file: Path | None = None
    # The strongest form that may be accepted of each schema, by the schema's digest.
    forms: dict[str, str] = field(default_factory=dict)
    # None until an answer has told.
    thinks_first: bool | None = None
    # Whether nobody need ask the endpoint for its dialect.
    is_recognized: bool = False
    _findings: set[tuple[str, str]] = field(default_factory=set)

    def learn(self, kind: Kind, value: str) -> bool:
        """Returns whether it was unknown, here and in the file."""
        self.refresh()
        if (kind, value) in self._findings:
            return False
        self._apply(kind, value)
        # Without room on the disk each process learns for itself.
        with contextlib.suppress(OSError):
            if self.file:
                with self.file.open("ab", buffering=0) as file:
                    file.write(json.dumps([self.name, kind, value]).encode() + b"\n")
        return True

    def refresh(self) -> bool:
        """Learns what other processes have found; returns whether they have found anything."""
        news = [finding for finding in self._written() if finding not in self._findings]
        for kind, value in news:
            self._apply(kind, value)
        return bool(news)

    def _written(self) -> Iterator[tuple[str, str]]:
        try:
            lines = self.file.read_bytes().splitlines() if self.file else []
        except OSError:
            return
        for line in lines:
            try:
                name, kind, value = json.loads(line)
            except (ValueError, TypeError, RecursionError):
                # Its process was killed while it wrote, or writes it still.
                continue
            if name == self.name and isinstance(kind, str) and isinstance(value, str):
                yield kind, value

    def _apply(self, kind: str, value: str) -> None:
        self._findings.add((kind, value))
        match kind:
            case "dialect" if value in dialects():
                self.dialect = dialects()[value]
                self.without |= self.dialect.without
                self.is_recognized = True
            case "without":
                self.without |= {value}
            case "form":
                digest, _, form = value.partition(" ")
                self.forms[digest] = form
            case "thinks_first":
                self.thinks_first = self.thinks_first or value == "yes"


@functools.lru_cache(256)
def agreement_with(url: str, model: str, dialect: Dialect, schema: str, file: Path | None = None) -> Agreement:
    """Returns the same agreement to all clients of this process that share a file."""
    name = f"{url} {model} {dialect.name} {schema}"
    agreement = Agreement(name=name, dialect=dialect, schema=schema, without=dialect.without, file=file)
    agreement.refresh()
    return agreement
