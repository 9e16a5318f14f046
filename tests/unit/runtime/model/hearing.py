"""Listening to answers while they are written."""

from collections.abc import Iterator
from contextlib import contextmanager

from soliloquy.runtime.model.hearing import HEARING, Hear
from soliloquy.v1.model_pb2 import GenerateRequest


class Heard:
    """What was heard of each answer that began."""

    def __init__(self) -> None:
        self.answers: list[list[str]] = []

    def __call__(self, _: GenerateRequest) -> Hear:
        self.answers.append([])
        return self.answers[-1].append


@contextmanager
def hearing() -> Iterator[Heard]:
    heard = Heard()
    token = HEARING.set(heard)
    try:
        yield heard
    finally:
        HEARING.reset(token)
