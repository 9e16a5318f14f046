"""Wires the student service."""

from functools import partial

from services.student.handler import reply, rewrite
from services.student.settings import StudentSettings
from soliloquy.runtime.handling import Service
from soliloquy.runtime.model import Model
from soliloquy.v1.events_pb2 import (
    ConversationFinished,
    ConversationStarted,
    StudentRejected,
    StudentReplied,
    TutorReplied,
)


def service(settings: StudentSettings, model: Model) -> Service:
    handle = partial(reply, model=model)
    return Service(
        name="student",
        handlers={ConversationStarted: handle, TutorReplied: handle, StudentRejected: partial(rewrite, model=model)},
        emits=(StudentReplied, ConversationFinished),
        max_in_flight=settings.max_in_flight,
    )
