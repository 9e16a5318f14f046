"""`soliloquy dlq`: events that were given up, why, and how to put them back."""

import asyncio
from collections.abc import Awaitable, Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import TypeVar

import click
from google.protobuf.text_format import MessageToString

from services.cli.failure import Failure
from services.runtime import dead_letters
from services.runtime.events import Undecodable, message_of
from services.runtime.topics import origin
from services.runtime.transports.embedded import EmbeddedTransport, LogUnavailable
from services.runtime.transports.port import Delivery, Transport

T = TypeVar("T")
FOLDER = click.argument("folder", metavar="DIR", type=click.Path(path_type=Path, exists=True, file_okay=False))


@click.group()
def dlq() -> None:
    """Look at events that were given up, and put them back."""


@dlq.command("list")
@FOLDER
def list_letters(folder: Path) -> None:
    """List the dead letters of a dataset's run."""

    async def read(transport: Transport) -> list[Delivery]:
        return [letter async for letter in dead_letters.letters(transport)]

    letters = _with_log(folder, read)
    if not letters:
        click.echo("no dead letters")
        return
    for letter in letters:
        event = letter.event
        made = datetime.fromtimestamp(event.time, UTC).strftime("%Y-%m-%d %H:%M:%S")
        click.echo(f"{event.id}  {origin(event.topic)}  {made}  after {event.attempt} attempts\n    {event.error}")


@dlq.command("show")
@FOLDER
@click.argument("event_id", metavar="ID")
def show_letter(folder: Path, event_id: str) -> None:
    """Show a dead letter: its headers, its error, what it carries."""
    event = _with_log(folder, lambda transport: dead_letters.letter(transport, event_id)).event
    for name in ("id", "topic", "key", "source", "attempt", "error"):
        click.echo(f"{name}: {getattr(event, name)}")
    try:
        click.echo(MessageToString(message_of(event), as_utf8=True))
    except Undecodable:
        click.echo(f"payload: {event.payload!r}")


@dlq.command("replay")
@FOLDER
@click.argument("event_ids", metavar="[ID]...", nargs=-1)
def replay_letters(folder: Path, event_ids: tuple[str, ...]) -> None:
    """Put dead letters back where they came from: those named, or all of them."""
    replayed = _with_log(folder, lambda transport: dead_letters.replay(transport, event_ids))
    click.echo(f"{replayed} put back; the command that grew {folder} goes on from there")


def _with_log(folder: Path, use: Callable[[Transport], Awaitable[T]]) -> T:
    log = folder / ".run" / "log.sqlite"
    if not log.exists():
        raise Failure(f"{folder} has no event log: its run is complete, or never began")

    async def run() -> T:
        async with EmbeddedTransport(log) as transport:
            return await use(transport)

    try:
        return asyncio.run(run())
    except (LogUnavailable, dead_letters.NoSuchLetter) as error:
        raise Failure(str(error)) from error
