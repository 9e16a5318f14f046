"""Wires the student service."""

from functools import partial

from services.student.handler import reply, rewrite
from soliloquy.runtime.handling import MODEL_BOUND, Service
from soliloquy.runtime.model import BestOf, Model, only_one
from soliloquy.v1.events_pb2 import (
    ConversationFinished,
    ConversationStarted,
    StudentRejected,
    StudentReplied,
    TutorReplied,
)


def service(model: Model, best_of: BestOf = only_one) -> Service:
    handle, again = partial(reply, model=model, best_of=best_of), partial(rewrite, model=model)
    return Service(
        name="student",
        handlers={ConversationStarted: handle, TutorReplied: handle, StudentRejected: again},
        emits=(StudentReplied, ConversationFinished),
        max_in_flight=MODEL_BOUND,
    )
