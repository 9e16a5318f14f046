"""Wires the composer service."""

from functools import partial

from soliloquy.recipes.judges import Judges
from soliloquy.runtime.handling import MODEL_BOUND, Service
from soliloquy.runtime.model import Model, ReserveOf, no_reserve
from soliloquy.v1.events_pb2 import CalculationNeeded, ConversationFinished, ReplyNeeded, StudentRejected, TutorReplied
from soliloquy_services.composer.handler import reply


def service(model: Model, judges: Judges, reserve: ReserveOf = no_reserve) -> Service:
    handle = partial(reply, model=model, judges=judges, reserve=reserve)
    return Service(
        name="composer",
        handlers={ReplyNeeded: handle},
        emits=(TutorReplied, CalculationNeeded, StudentRejected, ConversationFinished),
        max_in_flight=MODEL_BOUND,
    )
