"""The interface of every model: scripted, hosted or our own."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

from soliloquy.runtime.retry import Refused
from soliloquy.v1.model_pb2 import Completion, GenerateRequest

# Receives the next chunk of an answer's text.
ChunkReceiver = Callable[[str], None]
# Receives chunks as the model streams. It is called whenever an answer begins, so also when a failed call is made
# again, and returns what receives that answer's chunks, or None where nobody does.
StreamListener = Callable[[GenerateRequest], ChunkReceiver | None]


class ModelRefused(Refused):
    """The model cannot serve this request as it stands; asking again would not help."""


class Model(Protocol):
    async def generate(self, request: GenerateRequest) -> Completion: ...


class StreamingModel(Protocol):
    async def generate(self, request: GenerateRequest, stream_listener: StreamListener | None = None) -> Completion: ...


@dataclass(frozen=True, slots=True)
class ListenedModel:
    """Streams every answer of a model to one listener."""

    model: StreamingModel
    stream_listener: StreamListener

    async def generate(self, request: GenerateRequest) -> Completion:
        return await self.model.generate(request, self.stream_listener)
