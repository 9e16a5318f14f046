"""A conversation's problem, enriched before the conversation starts."""

from soliloquy.v1.events_pb2 import ConversationStarted, EnrichmentNeeded

from services.planner.enrichments import Enrichments
from services.recipes.recipe import find
from services.runtime.events import Outcome, emit


async def enrich(event: EnrichmentNeeded, enrichments: Enrichments) -> Outcome:
    conversation = event.conversation
    enrichment = await enrichments.of(conversation.problem, find(conversation.run.recipe))
    conversation.problem.enrichment.CopyFrom(enrichment)
    return emit(ConversationStarted(conversation=conversation))
