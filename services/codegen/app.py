"""Wires the codegen service."""

from functools import partial

from soliloquy.runtime.handling import MODEL_BOUND, Service
from soliloquy.runtime.model import Model, ReserveOf, no_reserve
from soliloquy.v1.events_pb2 import (
    CalculationNeeded,
    CodeFailed,
    CodeWritten,
    ConversationFinished,
    ProgramsNeeded,
    ProgramsWritten,
)
from soliloquy_services.codegen.handler import ProgramCache, write, write_programs

# Problems whose independent programs are remembered.
_REMEMBERED = 2048


def service(model: Model, reserve: ReserveOf = no_reserve) -> Service:
    handle = partial(write, model=model, reserve=reserve)
    return Service(
        name="codegen",
        handlers={
            CalculationNeeded: handle,
            CodeFailed: handle,
            ProgramsNeeded: partial(write_programs, model=model, programs=ProgramCache(_REMEMBERED)),
        },
        emits=(CodeWritten, ConversationFinished, ProgramsWritten),
        max_in_flight=MODEL_BOUND,
    )
