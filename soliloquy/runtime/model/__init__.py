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


# Returns how many versions a role writes of its next message in a conversation, by the role and the conversation's id.
BestOf = Callable[[str, str], int]


def only_one(role: str, conversation: str) -> int:
    return 1


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
