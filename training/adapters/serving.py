"""A client of the model service for activating adapters."""

import asyncio
import time
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Self, TypeVar

import grpc
from google.protobuf.message import Message

from soliloquy.runtime.failure import Failure
from soliloquy.runtime.tls import Tls, handshake_advice, open_channel
from soliloquy.v1 import model_pb2 as pb
from soliloquy.v1.model_pb2_grpc import ModelServiceStub

# How long to wait for an absent or busy service, and for one call.
_PATIENCE_SECONDS = 60.0
_CALL_SECONDS = 300.0
_PAUSE_SECONDS = 0.5
_TRANSIENT = (grpc.StatusCode.UNAVAILABLE, grpc.StatusCode.RESOURCE_EXHAUSTED)

T = TypeVar("T")


class ModelService:
    def __init__(self, address: str, *, tls: Tls | None = None) -> None:
        self._address = address
        self._tls = tls

    async def __aenter__(self) -> Self:
        self._channel = open_channel(self._address, self._tls)
        self._stub = ModelServiceStub(self._channel)
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._channel.close()

    async def info(self) -> pb.ModelInfo:
        return await self._call(self._stub.Info, pb.InfoRequest())

    async def check_base(self, base: Path, digest: str) -> None:
        """Raises Failure unless the service serves the base that is trained."""
        info = await self.info()
        if info.digest != digest:
            served = f"{info.model}, {info.digest[:12] or 'no weights'}"
            raise Failure(
                f"the model service at {self._address} serves {served}, but {base} is {digest[:12]}: use the base "
                "that is served"
            )

    async def load(self, adapter: pb.Adapter) -> pb.Adapter:
        """Returns when every replica has the adapter; running requests keep the one they began with."""
        return (await self._call(self._stub.LoadAdapter, pb.LoadAdapterRequest(adapter=adapter))).adapter

    async def unload(self, name: str) -> None:
        await self._call(self._stub.UnloadAdapter, pb.UnloadAdapterRequest(name=name))

    async def ask(self, request: pb.GenerateRequest) -> pb.Completion:
        return await self._call(self._stub.Generate, request)

    async def _call(self, method: Callable[..., Awaitable[T]], request: Message) -> T:
        until = time.monotonic() + _PATIENCE_SECONDS
        while True:
            try:
                return await method(request, timeout=_CALL_SECONDS)
            except grpc.aio.AioRpcError as error:
                if error.code() not in _TRANSIENT or time.monotonic() > until:
                    said = " ".join((error.details() or "").split())
                    said += f" ({error.code().name}){handshake_advice(said, self._tls)}"
                    raise Failure(f"the model service at {self._address}: {said}") from error
            await asyncio.sleep(_PAUSE_SECONDS)
