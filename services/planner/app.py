"""Wires the planner service."""

from functools import partial

from soliloquy.runtime.handling import MODEL_BOUND, Service
from soliloquy.runtime.model import Model
from soliloquy.v1.events_pb2 import ConversationFinished, ConversationStarted, EnrichmentNeeded
from soliloquy_services.planner.handler import Enrichments, enrich

# Enrichments and steps to remember, of about 5 KB each.
_REMEMBERED = 2048


def service(model: Model) -> Service:
    handle = partial(enrich, model=model, enrichments=Enrichments(_REMEMBERED))
    return Service(
        name="planner",
        handlers={EnrichmentNeeded: handle},
        emits=(ConversationStarted, ConversationFinished),
        max_in_flight=MODEL_BOUND,
    )
