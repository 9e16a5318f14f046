"""How far the curriculum is with a run, as its table says."""

from soliloquy.v1.events_pb2 import RunStanding
from soliloquy.v1.runs_pb2 import Run

from services.runtime.events import growing_of
from services.runtime.passing import messages
from services.runtime.topics import TOPIC_OF
from services.runtime.transports.port import Transport


async def under_way(transport: Transport, run: Run) -> set[int]:
    """The problems of the run, by ordinal, that have a conversation under way."""
    found: set[int] = set()
    async for _, standing in messages(transport.read(TOPIC_OF[RunStanding].name)):
        assert isinstance(standing, RunStanding)
        if growing_of(standing.run) == growing_of(run):
            found = set(standing.under_way)
    return found
