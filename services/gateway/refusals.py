"""Refusals, with their statuses over HTTP and gRPC."""

from collections.abc import Mapping
from enum import StrEnum


class Code(StrEnum):
    INVALID = "invalid"
    UNKNOWN = "unknown"
    EXISTS = "exists"
    DENIED = "denied"
    UNAUTHENTICATED = "unauthenticated"
    TOO_LARGE = "too_large"
    TOO_MANY = "too_many"
    UNAVAILABLE = "unavailable"
    # The run's state does not allow it.
    NOT_NOW = "not_now"


HTTP_STATUS: Mapping[Code, int] = {
    Code.INVALID: 400,
    Code.UNKNOWN: 404,
    Code.EXISTS: 409,
    Code.DENIED: 403,
    Code.UNAUTHENTICATED: 401,
    Code.TOO_LARGE: 413,
    Code.TOO_MANY: 429,
    Code.UNAVAILABLE: 503,
    Code.NOT_NOW: 409,
}
# Names of grpc.StatusCode, which is slow to import.
GRPC_STATUS: Mapping[Code, str] = {
    Code.INVALID: "INVALID_ARGUMENT",
    Code.UNKNOWN: "NOT_FOUND",
    Code.EXISTS: "ALREADY_EXISTS",
    Code.DENIED: "PERMISSION_DENIED",
    Code.UNAUTHENTICATED: "UNAUTHENTICATED",
    Code.TOO_LARGE: "RESOURCE_EXHAUSTED",
    Code.TOO_MANY: "RESOURCE_EXHAUSTED",
    Code.UNAVAILABLE: "UNAVAILABLE",
    Code.NOT_NOW: "FAILED_PRECONDITION",
}


class Refusal(Exception):
    """One sentence for the caller: what is wrong, with the value, and what to do."""

    def __init__(self, code: Code, message: str, *, retry_after: float = 0.0) -> None:
        super().__init__(message)
        self.code = code
        self.message = message
        # Seconds after which to try again; 0 where waiting does not help or the time is unknown.
        self.retry_after = retry_after
