"""Which processes `soliloquy up` keeps, and where each serves its metrics: for itself and for whoever looks at them."""

from collections.abc import Mapping

import click

from soliloquy.cli.addresses import ADDRESS
from soliloquy.cli.kafka_options import Brokers
from soliloquy.cli.service_options import option
from soliloquy.runs.assignment import SERVICES

CONSOLE = "127.0.0.1:8080"
PORTS = click.IntRange(min=1, max=65_000)
_TOLD = "As `soliloquy up` was told."


def _scales(context: click.Context, parameter: click.Parameter, given: tuple[str, ...]) -> dict[str, int]:
    scales = dict.fromkeys(SERVICES, 1)
    for text in given:
        name, _, number = text.partition("=")
        if name not in scales or not number.isdecimal() or not 1 <= int(number) <= 99:
            raise click.BadParameter(f"{text!r} is no scale: write student=2; the services are {', '.join(SERVICES)}")
        scales[name] = int(number)
    if scales["collector"] > 1:
        raise click.BadParameter("there can be one collector only: two would write the same files")
    return scales


SCALE = option(
    "--scale", "scales", multiple=True, callback=_scales, metavar="SERVICE=N", help="Processes of a service."
)
KAFKA_TOLD = option("--kafka", metavar="HOST:PORT", type=Brokers(), help=_TOLD)
CONSOLE_TOLD = option("--console", metavar="HOST:PORT", type=ADDRESS, help=_TOLD)


def console_of(given: str | None, *, on_kafka: bool) -> str | None:
    """None where there is none."""
    return given or (None if on_kafka else CONSOLE)


def posts(scales: Mapping[str, int], *, on_kafka: bool, console: str | None) -> list[str]:
    """The names of all processes, in the order of their ports."""
    if on_kafka:
        serving = [f"{name}-{number}" for name, scale in scales.items() for number in range(scale)]
    elif any(scale > 1 for scale in scales.values()):
        raise click.UsageError("--scale says nothing without --kafka: one process then serves the whole loop")
    else:
        # As few as keep one that waits for the disk or the sandbox from holding up the rest.
        serving = ["loop", "collector"]
    return [*serving, *(["gateway"] if console_of(console, on_kafka=on_kafka) else [])]


def metrics_of(names: list[str], http_from: int) -> dict[str, str]:
    """Where each of them has its metrics."""
    return {name: f"127.0.0.1:{http_from + place}" for place, name in enumerate(names)}
