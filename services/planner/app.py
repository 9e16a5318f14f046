"""The planner service, wired."""

from functools import partial

from soliloquy.v1.events_pb2 import ConversationStarted, EnrichmentNeeded

from services.planner.enrichments import Enrichments
from services.planner.handler import enrich
from services.planner.settings import PlannerSettings
from services.runtime.handling import Service
from services.runtime.model import Model


def service(settings: PlannerSettings, model: Model) -> Service:
    enrichments = Enrichments(model, settings.remembered)
    return Service(
        name="planner",
        handlers={EnrichmentNeeded: partial(enrich, enrichments=enrichments)},
        emits=(ConversationStarted,),
        max_in_flight=settings.max_in_flight,
    )
