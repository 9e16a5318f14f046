"""Checks requests: the settings of a run against the recipes and `limits.toml`, and the places of pages."""

import re
from collections.abc import Callable, Collection, Iterable
from typing import TypeVar

from soliloquy.recipes.packages import known_recipes
from soliloquy.runtime.files import table_beside
from soliloquy.truth.locales import languages
from soliloquy.v1.gateway_pb2 import StartRunRequest
from soliloquy.v1.runs_pb2 import RunRequest
from soliloquy_services.gateway.refusals import Code, Refusal

LONGEST_NAME = 80


def name_of(request: RunRequest, taken: Collection[str]) -> str:
    """Returns the requested name or else one made of the settings, with a number if another run has it."""
    if request.name:
        return request.name
    name, number = default_name(request), 1
    while (numbered := name if number == 1 else f"{name} ({number})") in taken:
        number += 1
    return numbered


def default_name(request: RunRequest) -> str:
    conversations = "conversation" if request.conversations == 1 else "conversations"
    return f"{request.problems[:LONGEST_NAME]}, {request.conversations:,} {conversations}"


RUN_LIMITS: dict[str, dict[str, int]] = table_beside(__file__, "limits.toml")
REQUEST_ID = "[A-Za-z0-9_.:-]{1,128}"


def validated(start: StartRunRequest) -> RunRequest:
    """Returns the request with the usual values where it names none; raises Refusal for an invalid one."""
    if re.fullmatch(REQUEST_ID, start.request_id) is None:
        raise _invalid("request_id", start.request_id, "send a unique id of up to 128 letters, digits and .:_-")
    if not start.HasField("request"):
        raise Refusal(Code.INVALID, "request is missing: send at least recipe, problems and conversations")
    request = RunRequest()
    request.CopyFrom(start.request)
    request.name = request.name.strip()
    if request.recipe not in known_recipes():
        raise _invalid("recipe", request.recipe, f"use one of {', '.join(known_recipes())}")
    if request.language not in ("", *languages()):
        raise _invalid("language", request.language, f"use one of {', '.join(languages())}, or none for English")
    if len(request.name) > LONGEST_NAME or not request.name.isprintable():
        raise _invalid("name", request.name, f"send up to {LONGEST_NAME} printable characters on one line")
    for name, bounds in RUN_LIMITS.items():
        given = getattr(request, name)
        value = bounds.get("usual", given) if given == 0 else given
        if not bounds["least"] <= value <= bounds["most"]:
            raise _invalid(name, given, f"send {bounds['least']} to {bounds['most']}")
        setattr(request, name, value)
    return request


def _invalid(name: str, value: object, advice: str) -> Refusal:
    shown = repr(value[:80]) if isinstance(value, str) else value
    return Refusal(Code.INVALID, f"invalid {name} {shown}: {advice}")


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
    size, parts = checked_size(size), re.fullmatch(PAGE_TOKEN, token)
    if token and parts is None:
        raise bad_page_token(token)
    behind = (float(parts[1]), parts[2]) if parts else None
    left = sorted((row for row in rows if behind is None or place_of(row) < behind), key=place_of, reverse=True)
    if len(left) <= size:
        return left, ""
    at, name = place_of(left[size - 1])
    return left[:size], f"{at!r}:{name}"
