"""Pages of what is listed with the latest first; a token says behind which place the next page begins."""

import re
from collections.abc import Callable, Iterable
from typing import TypeVar

from services.gateway.refusals import Code, Refusal

Row = TypeVar("Row")
# When something was, and its id.
Place = tuple[float, str]

USUAL_SIZE = 50
LARGEST_SIZE = 500
_TOKEN = re.compile(r"(\d{1,12}(?:\.\d{1,9})?):([\w.-]{1,128})", re.ASCII)


def checked_size(asked: int) -> int:
    if asked < 0 or asked > LARGEST_SIZE:
        raise Refusal(Code.INVALID, f"page_size {asked} is none: ask for 1 to {LARGEST_SIZE}, or 0 for {USUAL_SIZE}")
    return asked or USUAL_SIZE


def invalid_token(token: str) -> Refusal:
    return Refusal(Code.INVALID, f"page_token {token[:80]!r} is none that was given out: leave it out to begin anew")


def page(rows: Iterable[Row], place_of: Callable[[Row], Place], size: int, token: str) -> tuple[list[Row], str]:
    """Some of the rows, the latest first, and the token of those that follow; empty where none do."""
    size, behind = checked_size(size), _place(token) if token else None
    placed = sorted(((place_of(row), row) for row in rows), key=lambda each: each[0], reverse=True)
    left = [each for each in placed if behind is None or each[0] < behind]
    chosen = left[:size]
    (at, name) = chosen[-1][0] if len(left) > size else (0.0, "")
    return [row for _, row in chosen], f"{at:.6f}:{name}" if name else ""


def _place(token: str) -> Place:
    if (parts := _TOKEN.fullmatch(token)) is None:
        raise invalid_token(token)
    return float(parts[1]), parts[2]
