"""`python -m benchmarks observe`."""

import time
import urllib.request
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import click
import uvloop
from rich.console import Console, RenderableType
from rich.table import Table

from benchmarks.commands.tables import machine_line, rounds_line, show, spread, table, targets_table
from benchmarks.runtime import machine
from benchmarks.runtime.counting import measure
from benchmarks.runtime.figures import merged, quantile
from benchmarks.runtime.targets import judged
from soliloquy.cli.kafka_options import kafka_options
from soliloquy.cli.posts import CONSOLE_TOLD, PORTS, SCALE, metrics_of, posts
from soliloquy.cli.service_options import with_options
from soliloquy.runs.failure import Failure
from soliloquy.runtime.transports.kafka import KafkaSettings, KafkaUnavailable
from soliloquy.runtime.transports.kafka.layout import LayoutRefused

Tell = Callable[[str], None]

SCRAPES = 30
SCRAPE_SECONDS = 10.0
_TARGETS = Path(__file__).with_name("observe.toml")


@click.command()
@kafka_options()
@click.option("--pairs", default=9, show_default=True, type=click.IntRange(min=1), help="Of which the median counts.")
@click.option("--http-from", type=PORTS, metavar="PORT", help="Scrape the services of `up` there.")
@with_options((SCALE, CONSOLE_TOLD))
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object and nothing else.")
def observe(
    *,
    kafka: KafkaSettings | None,
    pairs: int,
    http_from: int | None,
    scales: Mapping[str, int],
    console: str | None,
    as_json: bool,
) -> None:
    """Measure what watching costs: counting in a stage that does nothing, and scrapes of services at work.

    With --http-from the services of `soliloquy up` are scraped as they run, so have them run under load.
    """
    figures: dict[str, Any] = {"machine": machine.facts(), "rounds": pairs}
    try:
        with Console(stderr=True).status("connecting") as status:
            if http_from:
                names = posts(scales, on_kafka=kafka is not None, console=console)
                figures["scrapes"] = _scrapes(metrics_of(names, http_from), status.update)
            counting = uvloop.run(measure(kafka, pairs=pairs, tell=status.update))
    except (KafkaUnavailable, LayoutRefused) as error:
        raise Failure(str(error)) from error
    figures["kafka" if kafka else "embedded"] = counting
    figures["targets"] = judged(figures, _TARGETS)
    show(figures, _parts, as_json=as_json)


def _scrapes(addresses: Mapping[str, str], tell: Tell) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for post, address in addresses.items():
        tell(f"scraping {post}")
        found[post] = merged([_scraped(f"http://{address}/metrics")])
    largest = max(found.values(), key=lambda one: one["kilobytes"]["median"])
    slowest = max(found.values(), key=lambda one: one["p50_ms"]["median"])
    return found | {"largest": largest, "slowest": slowest}


def _scraped(url: str) -> dict[str, float]:
    seconds, size = [], 0
    for _ in range(SCRAPES):
        began = time.perf_counter()
        try:
            with urllib.request.urlopen(url, timeout=SCRAPE_SECONDS) as answer:
                size = len(answer.read())
        except OSError as error:
            raise Failure(f"{url} does not answer ({error}): start soliloquy up with --http-from") from error
        seconds.append(time.perf_counter() - began)
    return {"kilobytes": size / 1000} | {f"p{part}_ms": quantile(seconds, part / 100) * 1000 for part in (50, 99)}


def _parts(figures: dict[str, Any]) -> Iterator[RenderableType]:
    yield machine_line(figures["machine"])
    for name in ("kafka", "embedded"):
        if name in figures:
            rates = figures[name]["events_per_cpu_second"]
            yield f"{name}: {spread(rates['with'])} events a CPU second, {spread(rates['without'])} without instruments"
    if "scrapes" in figures:
        yield _table(figures["scrapes"])
    yield targets_table(figures["targets"])
    yield rounds_line(figures["rounds"])


def _table(scrapes: dict[str, Any]) -> Table:
    made = table("scrape of", "KB", "p50 ms", "p99 ms")
    for post, told in scrapes.items():
        made.add_row(post, *(spread(told[name]) for name in ("kilobytes", "p50_ms", "p99_ms")))
    return made
