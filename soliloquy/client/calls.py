"""Calls a service: which of its errors a client retries, and for how long, and which it raises."""

import asyncio
import random
import re
import time
from collections.abc import Mapping
from dataclasses import KW_ONLY, dataclass, field

import grpc

from soliloquy.runtime.failure import Failure
from soliloquy.runtime.tls import Tls, handshake_advice

_PAUSE_SECONDS = 0.05
_PAUSE_CAP_SECONDS = 2.0
# A service that stops cancels the calls that it has taken.
_TRANSIENT = (grpc.StatusCode.UNAVAILABLE, grpc.StatusCode.RESOURCE_EXHAUSTED, grpc.StatusCode.CANCELLED)
# The words of gRPC before the reason why it could not connect.
_CONNECTING = re.compile(r"^failed to connect to all addresses; last error: \w+: \S+: (Failed to connect [a-z ]+: )?")
# Reconnects at once when the service is back: the pauses between attempts are the client's own.
RECONNECT_OPTIONS = (
    ("grpc.initial_reconnect_backoff_ms", 50),
    ("grpc.min_reconnect_backoff_ms", 50),
    ("grpc.max_reconnect_backoff_ms", 1_000),
)
GATEWAY_OPTIONS = (
    *RECONNECT_OPTIONS,
    # Detects a cut connection while nothing is sent. Servers close connections that ping more often than every 300 s.
    ("grpc.keepalive_time_ms", 310_000),
)


class JobRefused(Failure, ValueError):
    """The service will never run this job as it is; the message names the limit."""


class ServiceUnavailable(Failure):
    """No answer came in time; the message is the last error of the service or of the network."""


class NotFound(Failure, LookupError):
    """The gateway has no such run, conversation or dead letter."""


class PermissionDenied(Failure, PermissionError):
    """The token or the certificate does not permit the request."""


class InvalidRequest(Failure, ValueError):
    """The gateway cannot do what was requested; the message says what to change."""


Refusals = Mapping[grpc.StatusCode, type[Exception]]
JOB_REFUSALS: Refusals = {grpc.StatusCode.INVALID_ARGUMENT: JobRefused}
GATEWAY_REFUSALS: Refusals = {
    grpc.StatusCode.NOT_FOUND: NotFound,
    grpc.StatusCode.UNAUTHENTICATED: PermissionDenied,
    grpc.StatusCode.PERMISSION_DENIED: PermissionDenied,
    grpc.StatusCode.INVALID_ARGUMENT: InvalidRequest,
    grpc.StatusCode.ALREADY_EXISTS: InvalidRequest,
    grpc.StatusCode.FAILED_PRECONDITION: InvalidRequest,
}


class RetryBudget:
    """The time left for an answer. Pauses grow and are jittered, so that callers do not come back together."""

    def __init__(self, service: str, seconds: float, tls: Tls | None = None, refusals: Refusals = JOB_REFUSALS) -> None:
        self._service = service
        self._tls = tls
        self._refusals = refusals
        self._seconds = seconds
        self.reset()

    @property
    def seconds_left(self) -> float:
        return max(0.0, self._until - time.monotonic())

    def reset(self) -> None:
        self._until = time.monotonic() + self._seconds
        self._pause = _PAUSE_SECONDS
        self._last_error: grpc.aio.AioRpcError | None = None

    async def wait(self, error: grpc.aio.AioRpcError) -> None:
        """Returns when the call may be retried; raises a refusal or ServiceUnavailable if a retry cannot help."""
        code = error.code()
        seconds = int(error.trailing_metadata().get("grpc-retry-pushback-ms", "0")) / 1_000
        # Without a pushback, RESOURCE_EXHAUSTED means a request larger than the service accepts.
        is_too_large = code is grpc.StatusCode.RESOURCE_EXHAUSTED and not seconds
        if refusal := self._refusals.get(grpc.StatusCode.INVALID_ARGUMENT if is_too_large else code):
            raise refusal(error.details()) from error
        pause = max(seconds, self._pause * random.uniform(0.5, 1.0))
        if code not in _TRANSIENT or pause >= self.seconds_left:
            # A try that ran out of time does not say why; the one before it does.
            if code is grpc.StatusCode.DEADLINE_EXCEEDED:
                error = self._last_error or error
            code, details = error.code(), error.details() or ""
            advice = ": start it, or name the address where it runs" if "refused" in details else ""
            reason = f"{_CONNECTING.sub('', details)} ({code.name}){advice or handshake_advice(details, self._tls)}"
            raise self.unavailable(reason) from error
        self._last_error = error
        await asyncio.sleep(pause)
        self._pause = min(_PAUSE_CAP_SECONDS, 2 * self._pause)

    def unavailable(self, reason: str) -> ServiceUnavailable:
        return ServiceUnavailable(f"no answer from {self._service}: {reason}")


@dataclass
class GatewayClient:
    """Waits `deadline_seconds` for an answer; while it follows a run, the gateway may be away for `away_seconds`."""

    address: str
    _: KW_ONLY
    token: str = field(default="", repr=False)
    tls: Tls | None = None
    deadline_seconds: float = 30.0
    away_seconds: float = 600.0
