"""The tutor service, wired."""

from functools import partial

from soliloquy.v1.events_pb2 import (
    CalculationNeeded,
    ConversationFinished,
    ReplyNeeded,
    StudentRejected,
    StudentReplied,
)

from services.runtime.handling import Service
from services.runtime.model import Model
from services.tutor.handler import decide
from services.tutor.settings import TutorSettings


def service(settings: TutorSettings, model: Model) -> Service:
    handle = partial(decide, model=model)
    return Service(
        name="tutor",
        handlers={StudentReplied: handle},
        emits=(CalculationNeeded, ReplyNeeded, StudentRejected, ConversationFinished),
        max_in_flight=settings.max_in_flight,
    )
