"""`python -m benchmarks pipeline`."""

from collections.abc import Iterator
from typing import Any

import click
from rich.console import Console, RenderableType
from rich.table import Table

from benchmarks.commands.calls import UnknownCall
from benchmarks.commands.grown import Wanted
from benchmarks.commands.loop import EVEN, LONG, measure
from benchmarks.commands.tables import machine_line, rounds_line, show, spread, table, targets_table
from benchmarks.runtime.figures import figure
from soliloquy.cli.kafka_options import kafka_options
from soliloquy.runs.failure import Failure
from soliloquy.runtime.transports.kafka import KafkaSettings, KafkaUnavailable
from soliloquy.runtime.transports.kafka.layout import LayoutRefused

_ROWS = {
    "seconds": "seconds",
    "limit": "limit_seconds",
    "of it, while places stay empty": "tail_seconds",
    "seconds of start-up before": "start_up_seconds",
    "CPU ms a turn": "cpu_ms_a_turn.ours",
    "of the scripted engine": "cpu_ms_a_turn.engine",
    "of the sandboxes": "cpu_ms_a_turn.sandboxes",
}


@click.command()
@kafka_options()
@click.option("--conversations", default=1024, show_default=True, type=click.IntRange(min=1), help="Of each run.")
@click.option("--in-flight", default=256, show_default=True, type=click.IntRange(min=1), help="Conversations at once.")
@click.option("--workers", default=1, show_default=True, type=click.IntRange(min=1), help="On the embedded log.")
@click.option("--rounds", default=1, show_default=True, type=click.IntRange(min=1), help="Of which the median counts.")
@click.option("--long", is_flag=True, help=f"Grow {LONG:,} conversations too (minutes).")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object and nothing else.")
def pipeline(
    *,
    kafka: KafkaSettings | None,
    conversations: int,
    in_flight: int,
    workers: int,
    rounds: int,
    long: bool,
    as_json: bool,
) -> None:
    """Measure the whole loop: on Kafka, or on the embedded log where none is named.

    The scripted model answers after a second, or after 0.8 s and one time in ten 2.8 s; the limit is what a run takes
    where nothing else takes time: conversations begin in order, as soon as there is a place. Then a run is killed
    whole with kill -9, and started again.

    On Kafka the benchmark starts services of its own, on topics that are made for it and deleted after: whatever else
    is on that Kafka is left alone, but disturbs the figures.
    """
    wanted = Wanted(conversations=conversations, in_flight=in_flight, workers=workers, latency=EVEN)
    try:
        with Console(stderr=True).status("starting") as status:
            figures = measure(wanted, kafka, rounds=rounds, long=long, tell=status.update)
    except (UnknownCall, KafkaUnavailable, LayoutRefused) as error:
        raise Failure(str(error)) from error
    show(figures, _parts, as_json=as_json)


def _parts(figures: dict[str, Any]) -> Iterator[RenderableType]:
    yield machine_line(figures["machine"])
    yield f"{figures['conversations']:,} conversations, {figures['in_flight']} in flight"
    for name in ("kafka", "embedded"):
        if name in figures:
            yield _runs(name, figures[name])
    yield targets_table(figures["targets"])
    yield rounds_line(figures["rounds"])


def _runs(name: str, found: dict[str, Any]) -> Table:
    runs = table(name, "1 s a call", "uneven calls")
    for label, path in _ROWS.items():
        runs.add_row(label, *(spread(figure(found[latency], path)) for latency in ("even", "uneven")))
    return runs
