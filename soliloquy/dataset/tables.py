"""Formats counts as shares and as Markdown tables."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

# Imported conversations may each have a persona of their own.
_MOST_ROWS = 50


def share(part: int, whole: int) -> str:
    """Rounds down, so that only all of them make 100 %."""
    return f"{part * 1_000 // whole / 10:g} % ({part:,} of {whole:,})" if whole else "none"


def percent(part: float, whole: float) -> str:
    return f"{part / whole * 100:.1f} %"


def counts(name: str, counted: Mapping[Any, int]) -> str:
    """Returns a table of values and shares: most frequent first, or in the order of a dict that is no Counter."""
    whole = sum(counted.values())
    ordered = list(counted.items())
    if isinstance(counted, Counter):
        ordered.sort(key=lambda row: (-row[1], str(row[0])))
    if len(ordered) > _MOST_ROWS:
        rest = ordered[_MOST_ROWS - 1 :]
        ordered[_MOST_ROWS - 1 :] = [(f"{len(rest):,} others", sum(n for _, n in rest))]
    return table((name, "", "share"), [(str(value) or "none", f"{n:,}", percent(n, whole)) for value, n in ordered])


def table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Returns an empty string if there are no rows."""
    lines = ["| " + " | ".join(cell.replace("|", "\\|").replace("\n", " ") for cell in row) + " |" for row in rows]
    rule = "| --- " + "| ---: " * (len(head) - 1) + "|"
    return "\n".join(["| " + " | ".join(head) + " |", rule, *lines]) if lines else ""
