"""Decides how long a client waits for a service, and which errors it retries."""

import asyncio
import random
import time

import grpc

_PAUSE_SECONDS = 0.05
_PAUSE_CAP_SECONDS = 2.0
_TRANSIENT = (grpc.StatusCode.UNAVAILABLE, grpc.StatusCode.RESOURCE_EXHAUSTED)
# gRPC reports only this for a stream that ended while the client was writing; the stream's own status is lost.
_CUT_OFF = "Internal error from Core"
# Reconnects at once when the service is back: the pauses between attempts are the client's own.
RECONNECT_OPTIONS = (
    ("grpc.initial_reconnect_backoff_ms", 50),
    ("grpc.min_reconnect_backoff_ms", 50),
    ("grpc.max_reconnect_backoff_ms", 1_000),
)


class JobRefused(ValueError):
    """The service will never run this job as it is; the message names the limit."""


class ServiceUnavailable(Exception):
    """No answer came in time; the message is the last error of the service or of the network."""


class RetryBudget:
    """The time left for an answer. Pauses grow and are jittered, so that callers do not come back together."""

    def __init__(self, service: str, seconds: float) -> None:
        self._service = service
        self._seconds = seconds
        self.reset()

    @property
    def seconds_left(self) -> float:
        return max(0.0, self._until - time.monotonic())

    def reset(self) -> None:
        self._until = time.monotonic() + self._seconds
        self._pause = _PAUSE_SECONDS

    async def wait(self, error: grpc.aio.AioRpcError) -> None:
        """Returns when the call may be retried; raises JobRefused or ServiceUnavailable if a retry cannot help."""
        code, seconds = error.code(), pushback(error)
        # Without a pushback, RESOURCE_EXHAUSTED means a request larger than the service accepts.
        if code is grpc.StatusCode.INVALID_ARGUMENT or (code is grpc.StatusCode.RESOURCE_EXHAUSTED and not seconds):
            raise JobRefused(error.details()) from error
        pause = max(seconds, self._pause * random.uniform(0.5, 1.0))
        is_transient = code in _TRANSIENT or error.details() == _CUT_OFF
        if not is_transient or pause >= self.seconds_left:
            raise self.unavailable(f"{error.details()} ({code.name})") from error
        await asyncio.sleep(pause)
        self._pause = min(_PAUSE_CAP_SECONDS, 2 * self._pause)

    def unavailable(self, reason: str) -> ServiceUnavailable:
        return ServiceUnavailable(f"no answer from {self._service}: {reason}")


def pushback(error: grpc.aio.AioRpcError) -> float:
    """Returns the seconds after which the service asks to be called again, or 0."""
    milliseconds = error.trailing_metadata().get("grpc-retry-pushback-ms", "0")
    return int(milliseconds) / 1_000
