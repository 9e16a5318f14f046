"""`python -m benchmarks transport`."""

from collections.abc import Iterator
from typing import Any

import click
import uvloop
from rich.console import Console, RenderableType
from rich.table import Table

from benchmarks.commands.tables import machine_line, rounds_line, show, spread, table, targets_table
from benchmarks.runtime.transport import measure
from soliloquy.cli.kafka_options import kafka_options
from soliloquy.runs.failure import Failure
from soliloquy.runtime.transports.kafka import KafkaSettings, KafkaUnavailable
from soliloquy.runtime.transports.kafka.layout import LayoutRefused


@click.command()
@kafka_options()
@click.option("--rounds", default=3, show_default=True, type=click.IntRange(min=1), help="Of which the median counts.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object and nothing else.")
def transport(*, kafka: KafkaSettings | None, rounds: int, as_json: bool) -> None:
    """Measure what the runtime makes of events: on Kafka, or on the embedded log where none is named.

    On Kafka a bare aiokafka client does the same work beside it. All topics are made once more for the benchmark, and
    deleted after it: whatever else is on that Kafka is left alone, but disturbs the figures.
    """
    try:
        with Console(stderr=True).status("connecting") as status:
            figures = uvloop.run(measure(kafka, rounds=rounds, tell=status.update))
    except (KafkaUnavailable, LayoutRefused) as error:
        raise Failure(str(error)) from error
    show(figures, _parts, as_json=as_json)


def _parts(figures: dict[str, Any]) -> Iterator[RenderableType]:
    yield machine_line(figures["machine"])
    for name in ("kafka", "embedded"):
        if name in figures:
            yield _rates(figures[name])
    yield targets_table(figures["targets"])
    yield rounds_line(figures["rounds"])


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
