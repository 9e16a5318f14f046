"""The one way to a terminal: what others wrote cannot control it, and what it cannot show does not end a command."""

import io
import sys
from typing import TYPE_CHECKING, Any

import click

from soliloquy.cli.visible import visible

if TYPE_CHECKING:
    from rich.console import Console


def echo(message: object = "", *, err: bool = False) -> None:
    """Prints a line with its control characters in Python's notation."""
    click.echo(visible(str(message)), err=err)


def open_console(**options: Any) -> "Console":
    """Returns a console that prints texts without markup, and their control characters in Python's notation."""
    # Most commands print no table.
    from soliloquy.cli.visible_console import VisibleConsole

    return VisibleConsole(highlight=False, markup=False, **options)


def escape_unprintable() -> None:
    """Lets both streams print any text, whatever the encoding of the terminal."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")
