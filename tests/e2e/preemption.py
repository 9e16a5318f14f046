"""A share that shrinks and grows again, with a kill in between, over any transport."""

import asyncio
from collections.abc import Callable, Sequence
from contextlib import AbstractAsyncContextManager
from pathlib import Path

from soliloquy.client import Dataset
from soliloquy.runtime.reading import messages
from soliloquy.runtime.transports.port import Transport
from soliloquy.v1.events_pb2 import TurnHeld
from tests.e2e.consoles import Site, site
from tests.e2e.runs import grown, kill, worker_named
from tests.waiting import wait_until

TOKENS = {"physics": "the token of physics", "chemistry": "the token of chemistry"}
CONVERSATIONS, IN_FLIGHT = 12, 8

Connect = Callable[[], AbstractAsyncContextManager[Transport]]


def share(file: Path, physics: str, chemistry: str) -> None:
    file.write_text(
        f"in_flight = {IN_FLIGHT}\n[tenant]\nphysics = {{{physics}}}\nchemistry = {{{chemistry}}}\n", "utf-8"
    )


def progress(at: Site, run: str) -> dict[str, int]:
    counts = at.call("GET", f"/v1/runs/{run}")["progress"]
    return {name: int(counts[name]) for name in ("under_way", "held", "turns")}


def going(at: Site, run: str) -> int:
    """Returns how many conversations under way are not held."""
    counts = progress(at, run)
    return counts["under_way"] - counts["held"]


def waiting(at: Site) -> int:
    stages = at.call("GET", "/v1/pipeline")["stages"]
    return sum(int(stage["events"]) for stage in stages if stage["topic"] == "turn.held")


async def held_turns(connect: Connect) -> list[tuple[str, str, int]]:
    """Returns the run, the conversation and the turn of everything that the log holds of turns that wait or waited."""
    found = []
    async with connect() as transport:
        async for _, message in messages(transport.read("turn.held")):
            assert isinstance(message, TurnHeld)
            conversation = message.conversation
            found.append((conversation.run.growing, conversation.id, len(conversation.turns)))
    return sorted(found)


def conversations(folder: Path) -> dict[str, bytes]:
    """Returns the accepted conversations without the name of the execution."""
    found = {}
    for conversation in Dataset(folder):
        conversation.run.growing = ""
        found[conversation.id] = conversation.SerializeToString(deterministic=True)
    return found


def check_held_conversations_end_as_they_would_have(
    folder: Path, connect: Connect, victims: Sequence[str], *options: str
) -> None:
    """`victims` are the processes of the student and the curriculum."""
    quotas = folder / "quotas.toml"
    share(quotas, "weight = 3", "weight = 1")
    grown(folder / "undisturbed", conversations=CONVERSATIONS)
    with site(folder, "--quotas", str(quotas), "--latency", "500ms", *options, tenants=TOKENS) as at:
        first, second = (
            at.started(CONVERSATIONS, request_id=tenant, token=token, in_flight=IN_FLIGHT, seed=7)
            for tenant, token in TOKENS.items()
        )
        wait_until(lambda: (going(at, first), going(at, second)) == (6, 2))
        share(quotas, "weight = 1", "weight = 3")
        wait_until(lambda: (going(at, first), going(at, second)) == (2, 6))
        wait_until(lambda: waiting(at) == progress(at, first)["held"] > 0)
        share(quotas, "in_flight = 0", "weight = 1")
        wait_until(lambda: waiting(at) == progress(at, first)["under_way"] > 0 == going(at, first))
        turns = asyncio.run(held_turns(connect))
        assert turns
        for process in victims:
            kill(worker_named(at.process.pid, process))
        before = progress(at, second)["turns"]
        wait_until(lambda: progress(at, second)["turns"] > before)
        assert asyncio.run(held_turns(connect)) == turns
        share(quotas, "weight = 3", "weight = 1")
        for run in (first, second):
            wait_until(lambda run=run: at.call("GET", f"/v1/runs/{run}")["state"] == "RUN_STATE_FINISHED")  # type: ignore[misc]
        assert waiting(at) == 0
    expected = conversations(folder / "undisturbed")
    assert len(expected) == CONVERSATIONS
    for run in (first, second):
        assert conversations(folder / "data" / run) == expected
