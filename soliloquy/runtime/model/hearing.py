"""Whoever wants to hear an answer while it is written: the rest of the way asks and counts as for any other."""

from collections.abc import Callable
from contextvars import ContextVar

from soliloquy.v1.model_pb2 import GenerateRequest

# Takes the next piece of an answer's text.
Hear = Callable[[str], None]


def _nobody(_: GenerateRequest) -> Hear | None:
    return None


# Asked each time that an answer begins, also once more after a call that failed: who hears it, if anybody does.
HEARING: ContextVar[Callable[[GenerateRequest], Hear | None]] = ContextVar("hearing", default=_nobody)
