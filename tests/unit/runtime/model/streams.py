"""A listener that keeps what it receives."""

from soliloquy.runtime.model import ChunkReceiver
from soliloquy.v1.model_pb2 import GenerateRequest


class KeptStreams:
    """The chunks of each answer that began."""

    def __init__(self) -> None:
        self.answers: list[list[str]] = []

    def __call__(self, _: GenerateRequest) -> ChunkReceiver:
        self.answers.append([])
        return self.answers[-1].append
