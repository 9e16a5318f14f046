"""Wires the tutor service."""

from functools import partial

from soliloquy.runtime.handling import MODEL_BOUND, Service
from soliloquy.runtime.model import Model, ReserveOf, no_reserve
from soliloquy.v1.events_pb2 import (
    CalculationNeeded,
    ConversationFinished,
    ReplyNeeded,
    StudentRejected,
    StudentReplied,
)
from soliloquy_services.tutor.handler import decide


def service(model: Model, reserve: ReserveOf = no_reserve) -> Service:
    handle = partial(decide, model=model, reserve=reserve)
    return Service(
        name="tutor",
        handlers={StudentReplied: handle},
        emits=(CalculationNeeded, ReplyNeeded, StudentRejected, ConversationFinished),
        max_in_flight=MODEL_BOUND,
    )
