"""Which processes `soliloquy up` keeps and where each serves its metrics, for the commands that look at them too."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import click

from soliloquy.cli.command import gathered, option
from soliloquy.cli.options import ADDRESS, BROKERS, whole
from soliloquy.runs import supervision
from soliloquy.runs.assignment import SERVICES

CONSOLE = "127.0.0.1:8080"
PORTS = whole(1, 65_000)
_AS_UP = "As given to `soliloquy up`."


def _scales(context: click.Context, parameter: click.Parameter, given: tuple[str, ...]) -> dict[str, int]:
    scales = dict.fromkeys(SERVICES, 1)
    for text in given:
        name, _, number = text.partition("=")
        if name not in scales or not number.isdecimal() or not 1 <= int(number) <= 99:
            raise click.BadParameter(
                f"invalid scale {text!r}: use SERVICE=N, e.g. student=2, with {', '.join(SERVICES)}"
            )
        scales[name] = int(number)
    if scales["collector"] > 1:
        raise click.BadParameter("collector cannot exceed 1: two collectors would write the same files")
    return scales


SCALE = option("Processes of a service.", "--scale", "scales", multiple=True, callback=_scales, metavar="SERVICE=N")
CONSOLE_OF_UP = option(_AS_UP, "--console", type=ADDRESS)


def console_address(given: str | None, *, on_kafka: bool) -> str | None:
    """Returns where `soliloquy up` serves the console; None if it does not."""
    return given or (None if on_kafka else CONSOLE)


def processes(scales: Mapping[str, int], *, on_kafka: bool, console: str | None) -> dict[str, Sequence[str]]:
    """Returns the services of each process of `soliloquy up` by its name, in the order of their metrics ports."""
    if not on_kafka and any(scale > 1 for scale in scales.values()):
        raise click.UsageError("--scale requires --kafka")
    gateway = console_address(console, on_kafka=on_kafka) is not None
    return supervision.processes(scales, on_kafka=on_kafka, gateway=gateway)


def metrics_addresses(names: Iterable[str], http_from: int) -> dict[str, str]:
    """Returns where each process serves its metrics."""
    return {name: f"127.0.0.1:{http_from + place}" for place, name in enumerate(names)}


def processes_of_up(http_from: int | None = None) -> Any:
    """Returns options that say where the processes of `soliloquy up` serve their metrics, by name."""

    def served(
        http_from: int | None = option(_AS_UP, default=http_from, required=False, type=PORTS, metavar="PORT"),
        kafka: str | None = option(_AS_UP, metavar="HOST:PORT", type=BROKERS),
        scales: Mapping[str, int] = SCALE,
        console: str | None = CONSOLE_OF_UP,
    ) -> dict[str, str]:
        names = processes(scales, on_kafka=kafka is not None, console=console)
        return metrics_addresses(names, http_from) if http_from else {}

    return gathered(served)
