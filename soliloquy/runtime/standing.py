"""How far the curriculum is with a run, as its table says."""

from soliloquy.runtime.events import run_key
from soliloquy.runtime.passing import messages
from soliloquy.runtime.topics import TOPIC_OF
from soliloquy.runtime.transports.port import Transport
from soliloquy.v1.events_pb2 import RunStanding
from soliloquy.v1.runs_pb2 import Run


async def under_way(transport: Transport, run: Run) -> set[int]:
    """The problems of the run, by ordinal, that have a conversation under way."""
    found: set[int] = set()
    async for _, standing in messages(transport.read(TOPIC_OF[RunStanding].name)):
        assert isinstance(standing, RunStanding)
        if run_key(standing.run) == run_key(run):
            found = set(standing.under_way)
    return found
