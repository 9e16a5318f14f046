"""Decides whether the vetted worker may run a snippet, from its syntax tree alone and without running any of it.

The worker runs many jobs in one process. What passes can compute with values of its own and with math and cmath; it
reaches nothing that outlives it. Whatever is not listed is refused, and the fork lane runs it.
"""

import ast
from dataclasses import dataclass

from .reading import Reading
from .verdicts import Verdict, find

MAX_NODES = 20_000


@dataclass(frozen=True, kw_only=True, slots=True)
class VetResult:
    refused: str | None
    imports: tuple[str, ...]
    verdicts: tuple[Verdict, ...]


def vet(tree: ast.Module) -> VetResult:
    """Why the fast lane must not run the snippet (None: it may), what it imports, what it concludes."""
    reading = Reading(tree.body)
    nodes = sum(reading.read(place) for place in range(len(tree.body)))
    return VetResult(
        refused=f"more than {MAX_NODES} syntax nodes" if nodes > MAX_NODES else reading.refused(),
        imports=tuple(sorted(reading.imports)),
        verdicts=find(tree.body, reading.bindings) if reading.closed else (),
    )
