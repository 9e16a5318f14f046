"""Validates a request for a run against the recipes and `limits.toml`, and says how a refusal is told."""

import re
from collections.abc import Collection
from enum import StrEnum
from typing import Self

from soliloquy.recipes.packages import known_recipes
from soliloquy.runtime.files import table_beside
from soliloquy.v1.gateway_pb2 import StartRunRequest
from soliloquy.v1.runs_pb2 import RunRequest


class Code(StrEnum):
    """Why a request is refused, with the status over HTTP and the name of the one over gRPC."""

    http_status: int
    # A name, because grpc.StatusCode is slow to import.
    grpc_status: str

    def __new__(cls, code: str, http_status: int, grpc_status: str) -> Self:
        member = str.__new__(cls, code)
        member._value_ = code
        member.http_status = http_status
        member.grpc_status = grpc_status
        return member

    INVALID = "invalid", 400, "INVALID_ARGUMENT"
    UNKNOWN = "unknown", 404, "NOT_FOUND"
    EXISTS = "exists", 409, "ALREADY_EXISTS"
    DENIED = "denied", 403, "PERMISSION_DENIED"
    UNAUTHENTICATED = "unauthenticated", 401, "UNAUTHENTICATED"
    TOO_LARGE = "too_large", 413, "RESOURCE_EXHAUSTED"
    TOO_MANY = "too_many", 429, "RESOURCE_EXHAUSTED"
    UNAVAILABLE = "unavailable", 503, "UNAVAILABLE"
    # The run's state does not allow it.
    NOT_NOW = "not_now", 409, "FAILED_PRECONDITION"


class Refusal(Exception):
    """One sentence for the caller: what is wrong, with the value, and what to do."""

    def __init__(self, code: Code, message: str, *, retry_after: float = 0.0) -> None:
        super().__init__(message)
        self.code = code
        self.message = message
        # Seconds after which to try again; 0 where waiting does not help or the time is unknown.
        self.retry_after = retry_after


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
