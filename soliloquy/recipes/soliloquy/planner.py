"""The planner: explains and outlines a problem's solution before anybody talks of it."""

from functools import partial

from soliloquy.recipes.soliloquy import prompting
from soliloquy.recipes.soliloquy.answers import Enriched
from soliloquy.recipes.soliloquy.enrichment import check, numbered
from soliloquy.runtime.ask import Ask, Unusable
from soliloquy.v1.conversation_pb2 import Enrichment, Problem


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
