"""The interface of every model: scripted, hosted or our own; and how a call survives faults on its way."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

from soliloquy.runtime.failure import Failure
from soliloquy.runtime.retry import Refused
from soliloquy.v1.model_pb2 import Completion, GenerateRequest

# Receives the next chunk of an answer's text.
ChunkReceiver = Callable[[str], None]
# Receives chunks as the model streams. Called whenever an answer begins, also when a failed call is retried;
# returns the receiver of that answer's chunks, or None to ignore them.
StreamListener = Callable[[GenerateRequest], ChunkReceiver | None]


class ModelRefused(Failure, Refused):
    """The model rejects this request; retrying would not help."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Reserve:
    """The number of versions in all, and the other model, that a role has left when its answers stay unfit."""

    best_of: int = 1
    fallback: bool = False


NO_RESERVE = Reserve()
# Returns the reserve of a role in a conversation, by the role and the conversation's id.
ReserveOf = Callable[[str, str], Reserve]


def no_reserve(role: str, conversation: str) -> Reserve:
    return NO_RESERVE


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
