"""What each error of an engine is to a caller, over gRPC and over HTTP."""

import logging
from dataclasses import dataclass

from grpc import StatusCode

from services.model.engines.engine import (
    EngineBusy,
    InvalidRequest,
    MissingWeights,
    TooLong,
    UnknownAdapter,
    WrongBase,
)
from soliloquy.runtime.retry import Refused, Transient

_log = logging.getLogger(__name__)


@dataclass(frozen=True, kw_only=True, slots=True)
class ErrorStatus:
    code: StatusCode
    http: int
    # OpenAI's `code`; empty where theirs has none.
    name: str = ""


_FAILED = ErrorStatus(code=StatusCode.INTERNAL, http=500)
# The first that an error is one of.
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
    """With the line that a caller reads; what is no refusal of an engine is told in the log only."""
    for kind, told in _STATUSES.items():
        if isinstance(error, kind):
            return told, str(error)
    _log.error("a call failed in the service itself", exc_info=error)
    return _FAILED, "the model service failed: its log says why"
