"""Formats counts as shares and as Markdown tables, in which a text of others is only a text."""

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from html import escape
from typing import Any

# Imported conversations may each have a persona of their own.
_MOST_ROWS = 50


def share(part: int, whole: int) -> str:
    return f"{percent(part, whole)} ({part:,} of {whole:,})" if whole else "none"


def percent(part: float, whole: float) -> str:
    """Rounds to a tenth, with 0 % only for none and 100 % only for all."""
    rounded = round(part / (whole or 1) * 100, 1)
    if 0 < part < whole:
        rounded = min(max(rounded, 0.1), 99.9)
    return f"{rounded:g} %"


def estimate(found: Mapping[str, Any]) -> str:
    """Formats a coefficient with its interval as "0.71 (0.52 to 0.88)"."""
    if found["value"] is None:
        return found.get("why") or "-"
    return f"{found['value']:.2f} ({found['low']:.2f} to {found['high']:.2f})"


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
    first, *lines = (f"| {' | '.join(map(plain, row))} |" for row in (head, *rows))
    rule = "| --- " + "| ---: " * (len(head) - 1) + "|"
    return "\n".join([first, rule, *lines]) if lines else ""


# Within a word, an underscore is only itself.
_MARKUP = re.compile(r"[\\`*\[\]|~$]|(?<!\w)_|_(?!\w)")


def plain(text: str) -> str:
    """Returns Markdown that shows a text of others as it is, on one line."""
    return _MARKUP.sub(r"\\\g<0>", escape(" ".join(text.split()), quote=False))
