"""`soliloquy top`: how the services are doing, without a Prometheus."""

import json
import time
from collections import deque
from collections.abc import Iterator, Mapping
from dataclasses import asdict

import click
from rich.console import Console
from rich.live import Live

from soliloquy.cli.addresses import ADDRESS
from soliloquy.cli.durations import DURATION
from soliloquy.cli.posts import CONSOLE_TOLD, KAFKA_TOLD, PORTS, SCALE, metrics_of, posts
from soliloquy.cli.service_options import option, with_options
from soliloquy.cli.top.scrape import Look, Span, look
from soliloquy.cli.top.standing import Standing, standing
from soliloquy.cli.top.view import view
from soliloquy.runs.failure import Failure

# Rates are over so many looks: long enough to be calm, short enough to be true.
_LOOKS = 6


@click.command()
@click.argument("addresses", nargs=-1, metavar="[HOST:PORT]...", type=ADDRESS)
@option("--http-from", type=PORTS, metavar="PORT", help="As `soliloquy up` was told, like the next three.")
@with_options((KAFKA_TOLD, SCALE, CONSOLE_TOLD))
@click.option(
    "--wanted", type=click.IntRange(min=1), help="Accepted conversations that there shall be: says what is left."
)
@click.option("--every", default="2s", show_default=True, type=DURATION, help="Between two looks.")
@click.option("--once", is_flag=True, help="Look twice, print, and end; so it is where the output is no terminal.")
@click.option("--json", "as_json", is_flag=True, help="Print a JSON object for each look.")
def top(
    *,
    addresses: tuple[str, ...],
    http_from: int | None,
    kafka: str | None,
    scales: Mapping[str, int],
    console: str | None,
    wanted: int | None,
    every: float,
    once: bool,
    as_json: bool,
) -> None:
    """Show how the services are doing: what waits, how fast it goes, what it costs and when it is done.

    It reads /metrics of services anywhere, each by its address, or of those that `soliloquy up --http-from PORT` keeps.
    Counts are since a service was started; what it takes (waits, works, a call) is the mean of the last seconds.
    """
    named = {address: address for address in addresses}
    if http_from:
        named |= metrics_of(posts(scales, on_kafka=kafka is not None, console=console), http_from)
    if not named:
        raise click.UsageError("whose metrics? Name a HOST:PORT, or use --http-from PORT as with soliloquy up")
    terminal = Console()
    standings = _standings(named, wanted, every)
    try:
        if as_json:
            for now in standings:
                click.echo(json.dumps(asdict(now)))
                if once:
                    return
        elif once or not terminal.is_terminal:
            terminal.print(view(next(standings), terminal.width))
        else:
            with Live(console=terminal, screen=True, auto_refresh=False) as live:
                for now in standings:
                    live.update(view(now, terminal.width), refresh=True)
    except KeyboardInterrupt:
        # That is how one leaves it.
        return


def _standings(named: Mapping[str, str], wanted: int | None, every: float) -> Iterator[Standing]:
    """One after the other, the first as soon as there are rates."""
    looks: deque[Look] = deque([look(named)], maxlen=_LOOKS)
    if not looks[0].samples:
        raise Failure(f"no service answers: {next(iter(looks[0].silent.values()))}")
    while True:
        time.sleep(every)
        looks.append(look(named))
        yield standing(Span(before=looks[0], after=looks[-1]), wanted)
