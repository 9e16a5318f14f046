"""Wires the student service."""

from functools import partial

from soliloquy.runtime.handling import MODEL_BOUND, Service
from soliloquy.runtime.model import Model, ReserveOf, no_reserve
from soliloquy.v1.events_pb2 import (
    ConversationFinished,
    ConversationStarted,
    StudentRejected,
    StudentReplied,
    TutorReplied,
)
from soliloquy_services.student.handler import reply, rewrite


def service(model: Model, reserve: ReserveOf = no_reserve) -> Service:
    handle, again = (partial(answer, model=model, reserve=reserve) for answer in (reply, rewrite))
    return Service(
        name="student",
        handlers={ConversationStarted: handle, TutorReplied: handle, StudentRejected: again},
        emits=(StudentReplied, TutorReplied, ConversationFinished),
        max_in_flight=MODEL_BOUND,
    )
