"""The planner: explains and outlines a problem's solution before anybody talks of it."""

from functools import partial

from soliloquy.v1.conversation_pb2 import Enrichment, Problem

from services.recipes.soliloquy import prompting
from services.recipes.soliloquy.answers import Enriched
from services.recipes.soliloquy.enrichment import check, numbered
from services.runtime.ask import Ask, Unusable


async def enrich(problem: Problem, ask: Ask) -> Enrichment:
    """The detailed solution and its outline; why it is the plain solution, where no answer keeps the rules."""
    try:
        enriched = await ask(prompting.enriching(problem), Enriched, partial(check, problem=problem))
    except Unusable as unusable:
        return Enrichment(plain_because=str(unusable), calls=ask.calls)
    return Enrichment(
        detailed_solution=numbered(enriched.detailed_solution),
        outline=numbered(enriched.outline),
        calls=ask.calls,
    )
