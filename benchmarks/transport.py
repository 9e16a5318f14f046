"""`python -m benchmarks transport`."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import click
import uvloop
from rich.console import RenderableType
from rich.table import Table

from benchmarks import machine, stage_load
from benchmarks.command import AS_JSON, Tell, rounds_option, show, spread, status_line, table
from benchmarks.figures import judged, merged
from benchmarks.transports import Client, connected
from soliloquy.cli.command import Command
from soliloquy.cli.service_options import KAFKA
from soliloquy.runtime.transports.kafka import KafkaSettings

BATCHES = 40
LASTING_BATCHES = 200
PACE = 200.0
PACED_SECONDS = 10.0
_TARGETS = Path(__file__).with_suffix(".toml")


@click.command(cls=Command)
@rounds_option(3)
@click.option(
    "--part", default=1.0, show_default=True, type=click.FloatRange(min=0.01), help="Of the events and of the time."
)
@AS_JSON
def transport(*, kafka: KafkaSettings | None = KAFKA, rounds: int, part: float, as_json: bool) -> None:
    """Measure events through stages that do nothing.

    Without --kafka the embedded log is measured. On Kafka a bare aiokafka client does the same work for comparison.
    The benchmark makes topics of its own and deletes them at the end. Anything else on that Kafka stays untouched,
    but disturbs the figures.
    """
    with status_line() as tell:
        figures = uvloop.run(measure(kafka, rounds=rounds, part=part, tell=tell))
    show(figures, tables, as_json=as_json)


async def measure(kafka: KafkaSettings | None, *, rounds: int, part: float = 1.0, tell: Tell) -> dict[str, Any]:
    """Measures Kafka, or the embedded log; `part` shortens every measurement."""
    figures: dict[str, Any] = {"machine": machine.facts(), "rounds": rounds, "event_bytes": stage_load.EVENT_BYTES}
    async with connected(kafka) as clients:
        measured = []
        for number in range(rounds):
            tell(f"round {number + 1} of {rounds}")
            measured.append(await _round(clients, part))
        found = merged(measured)
        if kafka is None:
            tell("memory and file")
            found["lasting"] = merged([await stage_load.lasting(clients["ours"], max(1, int(LASTING_BATCHES * part)))])
    figures["embedded" if kafka is None else "kafka"] = found
    return figures | {"targets": judged(figures, _TARGETS)}


async def _round(clients: dict[str, Client], part: float) -> dict[str, Any]:
    one_stage: dict[str, Any] = {}
    two_stages: dict[str, Any] = {}
    for name, client in clients.items():
        one_stage[name] = await stage_load.saturated(client, max(1, int(BATCHES * part)))
        two_stages[name] = await stage_load.paced(client, rate=PACE, seconds=PACED_SECONDS * part)
    if "bare" in clients:
        ours, bare = one_stage["ours"], one_stage["bare"]
        one_stage["of_bare"] = {name: ours[name] / bare[name] for name in ours}
    return {"one_stage": one_stage, "two_stages": two_stages}


def tables(figures: dict[str, Any]) -> Iterator[RenderableType]:
    for name in ("kafka", "embedded"):
        if name in figures:
            yield _rates(figures[name])


def _rates(found: dict[str, Any]) -> Table:
    rates = table("", "one stage:\nevents a CPU second", "\nevents/s", "two stages at 200/s:\np50 ms", "\np99 ms")
    one, two = found["one_stage"], found["two_stages"]
    for name in two:
        rates.add_row(
            name,
            spread(one[name]["events_per_cpu_second"]),
            spread(one[name]["events_per_second"]),
            spread(two[name]["p50_ms"]),
            spread(two[name]["p99_ms"]),
        )
    if "of_bare" in one:
        share = one["of_bare"]
        rates.add_row(
            "ours of bare", spread(share["events_per_cpu_second"]), spread(share["events_per_second"]), "", ""
        )
    return rates
