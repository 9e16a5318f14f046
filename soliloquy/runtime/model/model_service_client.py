"""Calls our own model service over gRPC."""

import itertools
import math
from collections.abc import AsyncIterable, Sequence

import grpc

from soliloquy.runtime.model import ChunkReceiver, ModelRefused, StreamListener, faults
from soliloquy.runtime.model.remote import ServedModel
from soliloquy.runtime.model.settings import Endpoint, described
from soliloquy.runtime.tls import open_channel
from soliloquy.runtime.traces.spans import trace_headers
from soliloquy.v1.model_pb2 import Completion, Delta, GenerateRequest, InfoRequest, ModelInfo
from soliloquy.v1.model_pb2_grpc import ModelServiceStub

INFO_SECONDS = 5.0
MOST_ANSWER_CHARACTERS = 2 * 1024**2
SESSION_HEADER = "x-session-id"
# A proxy in front of the service accepts this many streams per connection.
STREAMS_A_CHANNEL = 100
_OPTIONS = (
    # Otherwise channels to one address share a connection.
    ("grpc.use_local_subchannel_pool", 1),
    # RemoteModel retries calls, and counts them.
    ("grpc.enable_retries", 0),
)
_HOPELESS = {
    grpc.StatusCode.UNAUTHENTICATED,
    grpc.StatusCode.PERMISSION_DENIED,
    grpc.StatusCode.UNIMPLEMENTED,
    # The adapter does not fit the model.
    grpc.StatusCode.FAILED_PRECONDITION,
}
_UNKNOWN_HOST = "Domain name not found"
# gRPC's words for a server that is not trusted, and for one that does not trust this client.
_UNTRUSTED = ("CERTIFICATE_VERIFY_FAILED", "TSI_DATA_CORRUPTED")
_PROXY_ERROR = "Received http2 header with status: 5"
_REFUSED = {grpc.StatusCode.INVALID_ARGUMENT, grpc.StatusCode.OUT_OF_RANGE}


class ModelServiceClient:
    """Must be created inside the event loop that uses it."""

    def __init__(self, name: str, endpoint: Endpoint) -> None:
        self._where = described(name, endpoint)
        self._channels = [
            open_channel(endpoint.address, endpoint.tls, _OPTIONS)
            for _ in range(math.ceil(endpoint.max_concurrency / STREAMS_A_CHANNEL))
        ]
        self._stubs = itertools.cycle([ModelServiceStub(channel) for channel in self._channels])

    async def ask(
        self, request: GenerateRequest, seconds: float, stream_listener: StreamListener | None = None
    ) -> Completion:
        stub, metadata = next(self._stubs), (*trace_headers().items(), *session_headers(request))
        try:
            if receive := stream_listener and stream_listener(request):
                return await _streamed(stub.GenerateStream(request, timeout=seconds, metadata=metadata), receive)
            return await stub.Generate(request, timeout=seconds, metadata=metadata)
        except grpc.aio.AioRpcError as error:
            raise self._error(error) from error

    async def identity(self, adapter: str) -> str:
        """Returns the digests of the weights, which may change under their names."""
        info = await self._info()
        digests = {"": "base", **{one.name: one.digest for one in info.adapters}}
        return f"{info.digest} {digests[adapter]}" if info.digest and digests.get(adapter) else ""

    def manners(self, request: GenerateRequest) -> Sequence[str]:
        return ["is a model service", "takes a schema as a grammar and seeds"]

    async def served(self) -> ServedModel:
        info = await self._info()
        return ServedModel(info.model, info.context_tokens)

    async def _info(self) -> ModelInfo:
        try:
            return await next(self._stubs).Info(InfoRequest(), timeout=INFO_SECONDS)
        except grpc.aio.AioRpcError:
            # The call that follows says what is wrong.
            return ModelInfo()

    async def close(self) -> None:
        for channel in self._channels:
            await channel.close()

    def _error(self, error: grpc.aio.AioRpcError) -> Exception:
        code, details = error.code(), " ".join((error.details() or "").split())
        description = f"{code.name}: {details}"
        if code is grpc.StatusCode.NOT_FOUND:
            return faults.UnknownModel(f"{self._where} does not serve this model or adapter ({description})")
        if code in _HOPELESS:
            return faults.EndpointRefuses(f"{self._where} cannot be used ({description})")
        if code in _REFUSED:
            return ModelRefused(f"{self._where} refused ({description})")
        if _UNKNOWN_HOST in details:
            return faults.EndpointRefuses(f"{self._where} cannot be found: check the host's name ({description})")
        if any(words in details for words in _UNTRUSTED):
            words = "and this client do not trust each other's certificates: check tls"
            return faults.EndpointRefuses(f"{self._where} {words}")
        if is_unreachable(error):
            return faults.Unreachable(description)
        match code:
            case grpc.StatusCode.RESOURCE_EXHAUSTED:
                return faults.Throttled(description, _pushback(error))
            case grpc.StatusCode.DEADLINE_EXCEEDED:
                return faults.TimedOut(description)
            case _:
                return faults.InvalidAnswer(description)


def session_headers(request: GenerateRequest) -> Sequence[tuple[str, str]]:
    """Names the conversation to the balancer, so that the replica answers which has its beginning in its cache."""
    return [(SESSION_HEADER, request.draw_key)] if request.draw_key else []


def is_unreachable(error: grpc.aio.AioRpcError) -> bool:
    """Returns whether no replica took the call, or the one that did has gone.

    When a replica dies, Ray's proxy answers with HTTP 500 without a gRPC status, which gRPC reports as UNKNOWN. A
    replica that ends cancels the calls that reach it late; a call that the client cancels raises no such error.
    """
    if error.code() is grpc.StatusCode.UNKNOWN:
        return (error.details() or "").startswith(_PROXY_ERROR)
    return error.code() in (grpc.StatusCode.UNAVAILABLE, grpc.StatusCode.CANCELLED)


async def _streamed(deltas: AsyncIterable[Delta], receive: ChunkReceiver) -> Completion:
    length = 0
    async for delta in deltas:
        length += len(delta.text)
        if length > MOST_ANSWER_CHARACTERS:
            raise faults.InvalidAnswer(f"the answer is longer than {MOST_ANSWER_CHARACTERS:,} characters")
        if delta.text:
            receive(delta.text)
        if delta.HasField("completion"):
            return delta.completion
    raise faults.InvalidAnswer("the answer stops before its end")


def _pushback(error: grpc.aio.AioRpcError) -> float:
    """Returns the seconds that the service asks to wait."""
    trailers = dict(error.trailing_metadata() or ()).get("grpc-retry-pushback-ms", "0")
    return int(trailers) / 1_000 if isinstance(trailers, str) and trailers.isdecimal() else 0.0
