"""`python -m benchmarks observe`."""

import time
import urllib.request
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import click
import uvloop
from rich.console import RenderableType

from benchmarks import counting, machine
from benchmarks.command import AS_JSON, Tell, show, spread, status_line, table
from benchmarks.figures import judged, merged, quantile
from soliloquy.cli.command import Command
from soliloquy.cli.observe import CONSOLE_OF_UP, PORTS, SCALE, metrics_addresses, processes
from soliloquy.cli.service_options import KAFKA
from soliloquy.runtime.failure import Failure
from soliloquy.runtime.transports.kafka import KafkaSettings

SCRAPES = 30
_TARGETS = Path(__file__).with_suffix(".toml")


@click.command(cls=Command)
@click.option(
    "--pairs",
    default=9,
    show_default=True,
    type=click.IntRange(min=1),
    help="Measure with and without instruments this often and report the median.",
)
@click.option(
    "--batches", default=counting.BATCHES, show_default=True, type=click.IntRange(min=1), help="Of 500 events each."
)
@click.option("--http-from", type=PORTS, metavar="PORT", help="Also scrape the services that `up` runs there.")
@AS_JSON
def observe(
    *,
    kafka: KafkaSettings | None = KAFKA,
    pairs: int,
    batches: int,
    http_from: int | None,
    scales: Mapping[str, int] = SCALE,
    console: str | None = CONSOLE_OF_UP,
    as_json: bool,
) -> None:
    """Measure what metrics and scrapes cost.

    Metrics are measured in a stage that does nothing.

    For scrapes, start `soliloquy up --http-from PORT` under load first and name the same PORT here.
    """
    with status_line() as tell:
        figures: dict[str, Any] = {"machine": machine.facts(), "rounds": pairs}
        if http_from:
            names = processes(scales, on_kafka=kafka is not None, console=console)
            figures["scrapes"] = _scrapes(metrics_addresses(names, http_from), tell)
        costs = uvloop.run(counting.measure(kafka, pairs=pairs, batches=batches, tell=tell))
        figures["kafka" if kafka else "embedded"] = costs
    show(figures | {"targets": judged(figures, _TARGETS)}, tables, as_json=as_json)


def _scrapes(addresses: Mapping[str, str], tell: Tell) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for post, address in addresses.items():
        tell(f"scraping {post}")
        found[post] = merged([_scraped(f"http://{address}/metrics")])
    largest = max(found.values(), key=lambda each: each["kilobytes"]["median"])
    slowest = max(found.values(), key=lambda each: each["p50_ms"]["median"])
    return found | {"largest": largest, "slowest": slowest}


def _scraped(url: str) -> dict[str, float]:
    seconds, size = [], 0
    for _ in range(SCRAPES):
        began = time.perf_counter()
        try:
            with urllib.request.urlopen(url) as answer:
                size = len(answer.read())
        except OSError as error:
            raise Failure(f"{url} does not answer ({error}): start soliloquy up with --http-from") from error
        seconds.append(time.perf_counter() - began)
    return {"kilobytes": size / 1000} | {f"p{part}_ms": quantile(seconds, part / 100) * 1000 for part in (50, 99)}


def tables(figures: dict[str, Any]) -> Iterator[RenderableType]:
    for name in ("kafka", "embedded"):
        if name in figures:
            rates = figures[name]["events_per_cpu_second"]
            yield f"{name}: {spread(rates['with'])} events a CPU second, {spread(rates['without'])} without instruments"
    if "scrapes" in figures:
        scrapes = table("scrape of", "KB", "p50 ms", "p99 ms")
        for post, scrape in figures["scrapes"].items():
            scrapes.add_row(post, *(spread(scrape[name]) for name in ("kilobytes", "p50_ms", "p99_ms")))
        yield scrapes
