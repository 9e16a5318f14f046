"""Wires the student service."""

from functools import partial

from soliloquy.runtime.handling import MODEL_BOUND, Service
from soliloquy.runtime.model import Model, ReserveOf, no_reserve
from soliloquy.v1.events_pb2 import (
    ConversationFinished,
    ConversationStarted,
    RunHeld,
    StudentRejected,
    StudentReplied,
    TurnHeld,
    TutorReplied,
)
from soliloquy_services.student.handler import go_on, reply, rewrite
from soliloquy_services.student.held import HeldConversations

# Conversations of one partition that may wait in memory: with fewer, those of one run would keep out another's.
_MAX_HELD = 65_536


def service(model: Model, reserve: ReserveOf = no_reserve) -> Service:
    held = HeldConversations()
    first, after_hold = (partial(handle, model=model, held=held, reserve=reserve) for handle in (reply, go_on))
    return Service(
        name="student",
        handlers={
            ConversationStarted: first,
            TutorReplied: first,
            StudentRejected: partial(rewrite, model=model, reserve=reserve),
            TurnHeld: after_hold,
        },
        emits=(StudentReplied, TutorReplied, ConversationFinished, TurnHeld),
        follows={RunHeld: held.take},
        max_in_flight=MODEL_BOUND,
        max_fetched=_MAX_HELD,
    )
