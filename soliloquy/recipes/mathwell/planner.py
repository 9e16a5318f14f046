"""The recipe enriches no problem."""

from soliloquy.runtime.ask import Ask
from soliloquy.v1.conversation_pb2 import Enrichment, Problem


async def enrich(problem: Problem, ask: Ask) -> Enrichment:
    return Enrichment(plain_because="nothing to enrich: it is yet to be written")
