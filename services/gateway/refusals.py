"""What the gateway refuses, and what that is over HTTP and over gRPC."""

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
    # It would be allowed of a run in another state.
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
# By the names of grpc.StatusCode, which takes long to load.
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
    """One sentence for whoever asked: what is wrong, with the value, and what to do."""

    def __init__(self, code: Code, message: str, *, retry_after: float = 0.0) -> None:
        super().__init__(message)
        self.code = code
        self.message = message
        # Seconds until it may be asked again; 0 where waiting does not help or nobody can tell.
        self.retry_after = retry_after
