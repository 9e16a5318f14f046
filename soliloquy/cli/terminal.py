"""The one way to a terminal: what others wrote cannot control it, and what it cannot show does not end a command."""

import asyncio
import functools
import io
import json
import signal
import sys
import unicodedata
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import click

if TYPE_CHECKING:
    from rich.console import Console

# Scripts and emoji need the joiners.
_LEFT = "\n\t\u200c\u200d"


def visible(value: Any) -> Any:
    """Returns a text, or all texts that a value holds, with control characters in Python's notation.

    Escapes could erase what was printed, and marks of direction change what a line seems to say.
    """
    match value:
        case str():
            return value if value.isprintable() else "".join(map(_visible, value))
        case Mapping():
            return {name: visible(held) for name, held in value.items()}
        case Sequence():
            return [visible(held) for held in value]
    return value


def json_line(value: Any) -> str:
    """Returns JSON whose text says the same and holds no control character."""
    text = json.dumps(value, ensure_ascii=False)
    return text if text.isprintable() else "".join(map(_json_visible, text))


def _json_visible(character: str) -> str:
    return json.dumps(character)[1:-1] if _is_control(character) else character


def _visible(character: str) -> str:
    return character.encode("unicode_escape").decode() if _is_control(character) else character


def _is_control(character: str) -> bool:
    return character not in _LEFT and unicodedata.category(character) in ("Cc", "Cf", "Cs")


def echo(message: object = "", *, err: bool = False) -> None:
    """Prints a line with its control characters in Python's notation."""
    click.echo(visible(str(message)), err=err)


def answer(found: Any, parts: Iterable[Any], *, as_json: bool, quiet: bool = False) -> None:
    """Prints what a command found: as JSON, or in parts for people, lines and what Rich draws."""
    if as_json:
        echo(json.dumps(found))
    elif not quiet:
        for part in parts:
            if isinstance(part, str):
                echo(part)
            else:
                open_console().print(part)


def open_console(**options: Any) -> "Console":
    """Returns a console that prints texts without markup, and their control characters in Python's notation."""
    return _visible_console()(highlight=False, markup=False, **options)


def is_screen(console: "Console") -> bool:
    """Whether lines can be drawn anew: FORCE_COLOR, which notebooks set, makes a terminal of anything."""
    return console.is_terminal and console.file.isatty()


@functools.cache
def _visible_console() -> "type[Console]":
    # Most commands print no table.
    from rich.console import Console, ConsoleOptions
    from rich.segment import Segment

    class VisibleConsole(Console):
        def render(self, renderable: Any, options: ConsoleOptions | None = None) -> Iterable[Segment]:
            """Leaves Rich's own controls alone, which are segments of their own."""
            for segment in super().render(renderable, options):
                yield segment if segment.control else Segment(visible(segment.text), segment.style)

    return VisibleConsole


def escape_unprintable() -> None:
    """Lets both streams print any text, whatever the encoding of the terminal."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")


def end_when_asked() -> None:
    """Makes SIGTERM end a command like Ctrl-C."""
    signal.signal(signal.SIGTERM, signal.default_int_handler)


def stop_signals() -> asyncio.Event:
    """Returns an event that SIGINT and SIGTERM set."""
    stopped = asyncio.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        asyncio.get_running_loop().add_signal_handler(number, stopped.set)
    return stopped
