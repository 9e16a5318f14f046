"""Says why a request is refused, the same over HTTP and gRPC, and bounds how long a caller waits for an answer."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from enum import StrEnum
from typing import Self

from soliloquy.runtime.transports.port import Unanswered


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


# A start may read a large file of problems.
ANSWER_SECONDS = 30.0
RETRY_SECONDS = 1.0


@asynccontextmanager
async def answered() -> AsyncIterator[None]:
    """Refuses the call if a log or a disk does not answer in time."""
    try:
        async with asyncio.timeout(ANSWER_SECONDS):
            yield
    except TimeoutError as error:
        line = f"the events could not be read or written within {ANSWER_SECONDS:g} s: try again in a moment"
        raise Refusal(Code.UNAVAILABLE, line, retry_after=RETRY_SECONDS) from error
    except Unanswered as error:
        raise Refusal(Code.UNAVAILABLE, f"{error}: try again in a moment", retry_after=RETRY_SECONDS) from error
