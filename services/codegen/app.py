"""Wires the codegen service."""

from functools import partial

from services.codegen.handler import write
from soliloquy.runtime.handling import MODEL_BOUND, Service
from soliloquy.runtime.model import Model
from soliloquy.v1.events_pb2 import CalculationNeeded, CodeFailed, CodeWritten, ConversationFinished


def service(model: Model) -> Service:
    handle = partial(write, model=model)
    return Service(
        name="codegen",
        handlers={CalculationNeeded: handle, CodeFailed: handle},
        emits=(CodeWritten, ConversationFinished),
        max_in_flight=MODEL_BOUND,
    )
