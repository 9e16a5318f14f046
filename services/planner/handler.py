"""Enriches a conversation's problem before the conversation starts."""

from services.planner.enrichment_cache import EnrichmentCache
from soliloquy.recipes.recipe import find
from soliloquy.runtime.events import Outcome, emit
from soliloquy.v1.events_pb2 import ConversationStarted, EnrichmentNeeded


async def enrich(event: EnrichmentNeeded, enrichments: EnrichmentCache) -> Outcome:
    conversation = event.conversation
    enrichment = await enrichments.get(conversation.problem, find(conversation.run.recipe))
    conversation.problem.enrichment.CopyFrom(enrichment)
    return emit(ConversationStarted(conversation=conversation))
