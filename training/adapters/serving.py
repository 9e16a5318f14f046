"""The model service as who activates adapters sees it."""

import asyncio
import time
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Self, TypeVar

import grpc

from soliloquy.v1.model_pb2 import (
    Adapter,
    Completion,
    GenerateRequest,
    InfoRequest,
    ListAdaptersRequest,
    LoadAdapterRequest,
    ModelInfo,
    UnloadAdapterRequest,
)
from soliloquy.v1.model_pb2_grpc import ModelServiceStub
from training.settings import CannotTrain

# How long a service that is away, or has no replica free, is waited for; and a call.
_PATIENCE_SECONDS = 60.0
_CALL_SECONDS = 300.0
_PAUSE_SECONDS = 0.5
_PASSING = (grpc.StatusCode.UNAVAILABLE, grpc.StatusCode.RESOURCE_EXHAUSTED)

T = TypeVar("T")


class ServiceError(Exception):
    """The model service does not do what it was asked; the message is its own."""


class ModelService:
    def __init__(self, address: str) -> None:
        self._address = address

    async def __aenter__(self) -> Self:
        self._channel = grpc.aio.insecure_channel(self._address)
        self._stub = ModelServiceStub(self._channel)
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._channel.close()

    async def info(self) -> ModelInfo:
        return await self._asked(lambda: self._stub.Info(InfoRequest(), timeout=_CALL_SECONDS))

    async def check_base(self, base: Path, digest: str) -> None:
        """Raises CannotTrain where it serves another base than the one that is trained."""
        info = await self.info()
        if info.digest != digest:
            served = f"{info.model}, {info.digest[:12] or 'no weights'}"
            raise CannotTrain(
                f"the model service at {self._address} serves {served}, and {base} is {digest[:12]}: name the base "
                "that is served"
            )

    async def adapters(self) -> dict[str, Adapter]:
        """Those that are loaded, by name."""
        listed = await self._asked(lambda: self._stub.ListAdapters(ListAdaptersRequest(), timeout=_CALL_SECONDS))
        return {adapter.name: adapter for adapter in listed.adapters}

    async def load(self, adapter: Adapter) -> Adapter:
        """Returns when every replica has it; requests that run keep what they began with."""
        request = LoadAdapterRequest(adapter=adapter)
        return (await self._asked(lambda: self._stub.LoadAdapter(request, timeout=_CALL_SECONDS))).adapter

    async def unload(self, name: str) -> None:
        request = UnloadAdapterRequest(name=name)
        await self._asked(lambda: self._stub.UnloadAdapter(request, timeout=_CALL_SECONDS))

    async def ask(self, request: GenerateRequest) -> Completion:
        return await self._asked(lambda: self._stub.Generate(request, timeout=_CALL_SECONDS))

    async def _asked(self, call: Callable[[], Awaitable[T]]) -> T:
        until = time.monotonic() + _PATIENCE_SECONDS
        while True:
            try:
                return await call()
            except grpc.aio.AioRpcError as error:
                if error.code() not in _PASSING or time.monotonic() > until:
                    said = " ".join((error.details() or "").split())
                    raise ServiceError(f"the model service at {self._address}: {said} ({error.code().name})") from error
            await asyncio.sleep(_PAUSE_SECONDS)
