"""Nothing is made of a problem before it is written."""

from soliloquy.v1.conversation_pb2 import Enrichment, Problem

from services.runtime.ask import Ask


async def enrich(problem: Problem, ask: Ask) -> Enrichment:
    return Enrichment(plain_because="nothing to enrich: it is yet to be written")
