"""`soliloquy top`."""

import json
import time
from collections import deque
from collections.abc import Iterator, Mapping
from dataclasses import asdict

import click
from rich.live import Live

from soliloquy.cli.command import Command, setting
from soliloquy.cli.options import AS_JSON
from soliloquy.cli.parameters import ADDRESS, DURATION
from soliloquy.cli.processes import processes_of_up
from soliloquy.cli.terminal import echo, open_console
from soliloquy.cli.top.overview import Overview, overview
from soliloquy.cli.top.scrape import Interval, Scrape, scrape
from soliloquy.cli.top.view import view
from soliloquy.runtime.failure import Failure

# Rates are means over this many scrapes.
_SCRAPES = 6


@click.command(cls=Command)
@click.argument("addresses", nargs=-1, metavar="[HOST:PORT]...", type=ADDRESS)
@processes_of_up()
def top(
    *,
    every: float = setting("Time between two scrapes.", default="2s", type=DURATION),
    once: bool = setting("Print once and exit; the default if the output is not a terminal."),
    as_json: bool = AS_JSON,
    addresses: tuple[str, ...],
    processes: Mapping[str, str],
) -> None:
    """Show backlog, throughput and cost of running services.

    Reads /metrics at each HOST:PORT, or from the services of `soliloquy up --http-from PORT`. Counts start with a
    service; durations (waits, works, a call) are means of the last seconds.
    """
    named = {address: address for address in addresses} | dict(processes)
    if not named:
        raise click.UsageError("top requires a HOST:PORT, or the --http-from PORT of soliloquy up")
    terminal = open_console()
    overviews = _overviews(named, every)
    try:
        if as_json:
            for now in overviews:
                echo(json.dumps(asdict(now)))
                if once:
                    return
        elif once or not terminal.is_terminal:
            terminal.print(view(next(overviews), terminal.width))
        else:
            with Live(console=terminal, screen=True, auto_refresh=False) as live:
                for now in overviews:
                    live.update(view(now, terminal.width), refresh=True)
    except KeyboardInterrupt:
        return


def _overviews(named: Mapping[str, str], every: float) -> Iterator[Overview]:
    """Yields an overview after each scrape, the first one after the second scrape."""
    scrapes: deque[Scrape] = deque([scrape(named)], maxlen=_SCRAPES)
    if not scrapes[0].samples:
        raise Failure(f"no service answers: {next(iter(scrapes[0].silent.values()))}")
    while True:
        time.sleep(every)
        scrapes.append(scrape(named))
        yield overview(Interval(before=scrapes[0], after=scrapes[-1]))
