"""Wires the planner service."""

from functools import partial

from services.planner.handler import EnrichmentCache, enrich
from services.planner.settings import PlannerSettings
from soliloquy.runtime.handling import Service
from soliloquy.runtime.model import Model
from soliloquy.v1.events_pb2 import ConversationStarted, EnrichmentNeeded


def service(settings: PlannerSettings, model: Model) -> Service:
    enrichments = EnrichmentCache(model, settings.remembered)
    return Service(
        name="planner",
        handlers={EnrichmentNeeded: partial(enrich, enrichments=enrichments)},
        emits=(ConversationStarted,),
        max_in_flight=settings.max_in_flight,
    )
