"""How many processes of each service there are, and which port of /metrics is whose."""

from collections.abc import Callable, Mapping
from typing import Any, TypeVar

import click

from services.cli.service_options import option
from services.cli.wiring import MAKERS

Command = TypeVar("Command", bound=Callable[..., Any])


def _scales(context: click.Context, parameter: click.Parameter, given: tuple[str, ...]) -> dict[str, int]:
    scales = dict.fromkeys(MAKERS, 1)
    for text in given:
        name, _, number = text.partition("=")
        if name not in scales or not number.isdecimal() or not 1 <= int(number) <= 99:
            raise click.BadParameter(f"{text!r} is no scale: write student=2; the services are {', '.join(MAKERS)}")
        scales[name] = int(number)
    if scales["collector"] > 1:
        raise click.BadParameter("there can be one collector only: two would write the same files")
    return scales


def scale_option(command: Command) -> Command:
    described = "Processes of a service."
    return option("--scale", "scales", multiple=True, callback=_scales, metavar="SERVICE=N", help=described)(command)


def http_from_option(described: str) -> Callable[[Command], Command]:
    return option("--http-from", type=click.IntRange(min=1, max=65_000), metavar="PORT", help=described)


def places(scales: Mapping[str, int], http_from: int | None) -> list[tuple[str, int, str | None]]:
    """Each process by its service and its number there, and where it tells of itself."""
    named = [(name, number) for name, scale in scales.items() for number in range(scale)]
    return [
        (name, number, f"127.0.0.1:{http_from + place}" if http_from else None)
        for place, (name, number) in enumerate(named)
    ]
