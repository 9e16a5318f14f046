"""How far the curriculum is with a run, as its table says."""

from soliloquy.v1.events_pb2 import RunStanding
from soliloquy.v1.runs_pb2 import Run

from services.runtime.events import growing_of, message_of
from services.runtime.topics import TOPIC_OF
from services.runtime.transports.port import Transport


async def under_way(transport: Transport, run: Run) -> set[int]:
    """The problems of the run, by ordinal, that have a conversation under way."""
    found: set[int] = set()
    async for delivery in transport.read(TOPIC_OF[RunStanding].name):
        standing = message_of(delivery.event)
        assert isinstance(standing, RunStanding)
        if growing_of(standing.run) == growing_of(run):
            found = set(standing.under_way)
    return found
