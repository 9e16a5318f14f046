"""Calls the model service under load."""

import asyncio
import itertools
import time
from collections.abc import Awaitable, Callable, Iterator
from dataclasses import dataclass, field

import grpc

from benchmarks.figures import quantile
from soliloquy.runtime.model.model_service_client import is_unreachable, session_headers
from soliloquy.v1.model_pb2 import Completion, GenerateRequest, Message, Sampling
from soliloquy.v1.model_pb2_grpc import ModelServiceStub

Call = Callable[[GenerateRequest], Awaitable[Completion]]

REQUEST_BYTES = 1024
_HEALTH = "/ray.serve.RayServeAPIService/Healthz"
TRIES = 5
_PAUSE_SECONDS = 0.1
# Longer than any answer takes on a loaded machine, so that only what is lost fails.
_DEADLINE_SECONDS = 1800.0
_PROMPT = "A block slides down an incline. What is its acceleration, and how do you know? "


@dataclass(kw_only=True)
class CallLoad:
    """The calls that were answered and those that failed in a time of load."""

    seconds: float = 0.0
    latencies: list[float] = field(default_factory=list)
    tokens: int = 0
    failures: list[str] = field(default_factory=list)

    def figures(self) -> dict[str, float]:
        quantiles = {f"p{part}_ms": quantile(self.latencies, part / 100) * 1000 for part in (50, 99)}
        return quantiles | {"rps": len(self.latencies) / self.seconds}

    @property
    def tokens_per_second(self) -> float:
        return self.tokens / self.seconds


def caller(opened: grpc.aio.Channel) -> Call:
    """Returns a call that tries again if a replica is gone or stuck.

    gRPC's own retry policy would take the refusal of a stuck replica for an answer.
    """
    stub = ModelServiceStub(opened)

    async def call(request: GenerateRequest) -> Completion:
        metadata = tuple(session_headers(request))
        for attempt in range(1, TRIES):
            try:
                return await stub.Generate(request, timeout=_DEADLINE_SECONDS, metadata=metadata)
            except grpc.aio.AioRpcError as error:
                if not is_unreachable(error):
                    raise
                await asyncio.sleep(_PAUSE_SECONDS * 2**attempt)
        return await stub.Generate(request, timeout=_DEADLINE_SECONDS, metadata=metadata)

    return call


def channel(port: int) -> grpc.aio.Channel:
    return grpc.aio.insecure_channel(f"127.0.0.1:{port}")


def echoes() -> Iterator[GenerateRequest]:
    message = Message(role="user", text="x" * REQUEST_BYTES)
    return (GenerateRequest(messages=[message], id=f"echo {number}") for number in itertools.count())


def answers(max_tokens: int) -> Iterator[GenerateRequest]:
    """Yields requests whose answers are as long as they may be, if the model does not end them."""
    message = Message(role="user", text=_PROMPT * 4)
    sampling = Sampling(temperature=0.8, top_p=1.0, max_tokens=max_tokens)
    return (GenerateRequest(messages=[message], sampling=sampling, seed=seed) for seed in itertools.count())


async def closed(
    call: Call, requests: Iterator[GenerateRequest], *, callers: int, until: Callable[[], bool]
) -> CallLoad:
    """Each caller sends its next request when it has the answer to the last."""
    load = CallLoad()
    started = time.perf_counter()

    async def ask() -> None:
        while not until():
            sent = time.perf_counter()
            try:
                answer = await call(next(requests))
            except grpc.aio.AioRpcError as error:
                load.failures.append(f"{error.code().name}: {error.details()}")
            else:
                load.latencies.append(time.perf_counter() - sent)
                load.tokens += answer.completion_tokens

    await asyncio.gather(*(ask() for _ in range(callers)))
    load.seconds = time.perf_counter() - started
    return load


def after(seconds: float) -> Callable[[], bool]:
    ends = time.perf_counter() + seconds
    return lambda: time.perf_counter() >= ends


async def healths(opened: grpc.aio.Channel, *, pause: float, until: Callable[[], bool]) -> list[float]:
    """Returns the seconds that each health check took."""
    check: grpc.aio.UnaryUnaryMultiCallable[bytes, bytes] = opened.unary_unary(_HEALTH)
    taken = []
    while not until():
        sent = time.perf_counter()
        await check(b"")
        taken.append(time.perf_counter() - sent)
        await asyncio.sleep(pause)
    return taken
