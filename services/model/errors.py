"""Maps the errors of an engine to gRPC and HTTP status codes."""

import logging
from dataclasses import dataclass

from grpc import StatusCode

from soliloquy.runtime.retry import Refused, Transient
from soliloquy_services.model.engines.engine import (
    EngineBusy,
    InvalidRequest,
    MissingWeights,
    TooLong,
    UnknownAdapter,
    WrongBase,
)

_log = logging.getLogger(__name__)


@dataclass(frozen=True, kw_only=True, slots=True)
class ErrorStatus:
    code: StatusCode
    http: int
    # OpenAI's `code`; empty if OpenAI has none.
    name: str = ""


_FAILED = ErrorStatus(code=StatusCode.INTERNAL, http=500)
# The first class that an error is an instance of decides.
_STATUSES: dict[type[Exception], ErrorStatus] = {
    UnknownAdapter: ErrorStatus(code=StatusCode.NOT_FOUND, http=404, name="model_not_found"),
    TooLong: ErrorStatus(code=StatusCode.INVALID_ARGUMENT, http=400, name="context_length_exceeded"),
    InvalidRequest: ErrorStatus(code=StatusCode.INVALID_ARGUMENT, http=400),
    MissingWeights: ErrorStatus(code=StatusCode.FAILED_PRECONDITION, http=409),
    WrongBase: ErrorStatus(code=StatusCode.FAILED_PRECONDITION, http=409),
    EngineBusy: ErrorStatus(code=StatusCode.RESOURCE_EXHAUSTED, http=429, name="rate_limit_exceeded"),
    Transient: ErrorStatus(code=StatusCode.UNAVAILABLE, http=503),
    Refused: ErrorStatus(code=StatusCode.INVALID_ARGUMENT, http=400),
}


def error_status(error: Exception) -> tuple[ErrorStatus, str]:
    """Returns the status and the message for the caller; internal errors are only logged."""
    for kind, status in _STATUSES.items():
        if isinstance(error, kind):
            return status, str(error)
    _log.error("internal error in a call", exc_info=error)
    return _FAILED, "internal error: see the log of the model service"
