"""How long an answer of a service is waited for, and what is tried again meanwhile."""

import asyncio
import random
import time

import grpc

_PAUSE_SECONDS = 0.05
_PAUSE_CAP_SECONDS = 2.0
_PASSING = (grpc.StatusCode.UNAVAILABLE, grpc.StatusCode.RESOURCE_EXHAUSTED)
# All that gRPC says of a stream that ended while it was written to: the status it ended with is lost then.
_CUT_OFF = "Internal error from Core"


class JobRefused(ValueError):
    """The service will never run this job as it is; the message names the limit."""


class ServiceUnavailable(Exception):
    """No answer came in time; the message holds the last word of the service, or of the network."""


class Patience:
    """Counts from the last good news; its pauses grow and are jittered, so that callers do not return together."""

    def __init__(self, whom: str, seconds: float) -> None:
        self._whom = whom
        self._seconds = seconds
        self.renew()

    @property
    def left(self) -> float:
        return max(0.0, self._until - time.monotonic())

    def renew(self) -> None:
        self._until = time.monotonic() + self._seconds
        self._pause = _PAUSE_SECONDS

    async def outlast(self, error: grpc.aio.AioRpcError) -> None:
        """Returns when to try again; JobRefused or ServiceUnavailable where that is of no use."""
        code, seconds = error.code(), pushback(error)
        # Without a time to come back at, the request is larger than the service takes.
        if code is grpc.StatusCode.INVALID_ARGUMENT or (code is grpc.StatusCode.RESOURCE_EXHAUSTED and not seconds):
            raise JobRefused(error.details()) from error
        pause = max(seconds, self._pause * random.uniform(0.5, 1.0))
        passing = code in _PASSING or error.details() == _CUT_OFF
        if not passing or pause >= self.left:
            raise self.lost(f"{error.details()} ({code.name})") from error
        await asyncio.sleep(pause)
        self._pause = min(_PAUSE_CAP_SECONDS, 2 * self._pause)

    def lost(self, why: str) -> ServiceUnavailable:
        return ServiceUnavailable(f"no answer from {self._whom}: {why}")


def pushback(error: grpc.aio.AioRpcError) -> float:
    """Seconds after which the service says to come again; 0 where it says nothing."""
    milliseconds = error.trailing_metadata().get("grpc-retry-pushback-ms", "0")
    return int(milliseconds) / 1_000
