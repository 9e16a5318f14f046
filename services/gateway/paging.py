"""Splits lists into pages, the latest first; a token names the place after which the next page begins."""

import re
from collections.abc import Callable, Iterable
from typing import TypeVar

from soliloquy_services.gateway.validation import Code, Refusal

Row = TypeVar("Row")
# A time and an id.
Place = tuple[float, str]

USUAL_SIZE = 50
LARGEST_SIZE = 500
# A time with all its digits, so that a row is never before or behind itself; and an id, which others may have chosen.
PAGE_TOKEN = r"(-?[0-9]{1,17}(?:[.][0-9]{1,17})?(?:e[+-][0-9]{1,3})?):([\s\S]*)"


def checked_size(size: int) -> int:
    if size < 0 or size > LARGEST_SIZE:
        raise Refusal(Code.INVALID, f"invalid page_size {size}: send 1 to {LARGEST_SIZE}, or 0 for {USUAL_SIZE}")
    return size or USUAL_SIZE


def bad_page_token(token: str) -> Refusal:
    return Refusal(Code.INVALID, f"invalid page_token {token[:80]!r}: leave it out to start from the first page")


def page(rows: Iterable[Row], place_of: Callable[[Row], Place], size: int, token: str) -> tuple[list[Row], str]:
    """Returns a page of rows, the latest first, and the next page's token; empty on the last page."""
    size, behind = checked_size(size), _place(token) if token else None
    placed = sorted(((place_of(row), row) for row in rows), key=lambda each: each[0], reverse=True)
    left = [each for each in placed if behind is None or each[0] < behind]
    chosen = left[:size]
    return [row for _, row in chosen], _token(chosen[-1][0]) if len(left) > size else ""


def _token(place: Place) -> str:
    at, name = place
    return f"{at!r}:{name}"


def _place(token: str) -> Place:
    if (parts := re.fullmatch(PAGE_TOKEN, token)) is None:
        raise bad_page_token(token)
    return float(parts[1]), parts[2]
