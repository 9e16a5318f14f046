"""Measures the runtime over one transport: on Kafka with the bare client beside it, round by round."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

from benchmarks.runtime import load, machine
from benchmarks.runtime.clients import Client, connected
from benchmarks.runtime.figures import merged
from benchmarks.runtime.targets import judged
from soliloquy.runtime.transports.kafka import KafkaSettings

Tell = Callable[[str], None]

BATCHES = 40
LASTING_BATCHES = 200
PACE = 200.0
PACED_SECONDS = 10.0
_TARGETS = Path(__file__).with_name("targets.toml")


async def measure(kafka: KafkaSettings | None, *, rounds: int, part: float = 1.0, tell: Tell) -> dict[str, Any]:
    """On Kafka, or on the embedded log where none is named; a part of it is for whoever has less time."""
    figures: dict[str, Any] = {"machine": machine.facts(), "rounds": rounds, "event_bytes": load.EVENT_BYTES}
    async with connected(kafka) as clients:
        measured = []
        for number in range(rounds):
            tell(f"round {number + 1} of {rounds}")
            measured.append(await _round(clients, part))
        found = merged(measured)
        if kafka is None:
            tell("memory and file")
            found["lasting"] = merged([await load.lasting(clients["ours"], int(LASTING_BATCHES * part))])
    figures["embedded" if kafka is None else "kafka"] = found
    return figures | {"targets": judged(figures, _TARGETS)}


async def _round(clients: dict[str, Client], part: float) -> dict[str, Any]:
    one_stage: dict[str, Any] = {}
    two_stages: dict[str, Any] = {}
    for name, client in clients.items():
        one_stage[name] = await load.saturated(client, int(BATCHES * part))
        two_stages[name] = await load.paced(client, rate=PACE, seconds=PACED_SECONDS * part)
    if "bare" in clients:
        ours, bare = one_stage["ours"], one_stage["bare"]
        one_stage["of_bare"] = {name: ours[name] / bare[name] for name in ours}
    return {"one_stage": one_stage, "two_stages": two_stages}
