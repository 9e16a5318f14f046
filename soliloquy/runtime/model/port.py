"""The boundary behind which every model stands: scripted, hosted or our own."""

from typing import Protocol

from soliloquy.runtime.retry import Refused
from soliloquy.v1.model_pb2 import Completion, GenerateRequest


class Model(Protocol):
    async def generate(self, request: GenerateRequest) -> Completion: ...


class ModelRefused(Refused):
    """The request cannot be served as it stands; asking again would not help."""
