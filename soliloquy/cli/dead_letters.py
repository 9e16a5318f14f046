"""`soliloquy dlq`: shows dead letters and replays them."""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import TypeVar

import click
from google.protobuf.text_format import MessageToString

from soliloquy.cli.command import Group
from soliloquy.cli.service_options import KAFKA
from soliloquy.cli.terminal import echo
from soliloquy.runs.supervision import LOG
from soliloquy.runtime import reading
from soliloquy.runtime.events import Undecodable, message_of
from soliloquy.runtime.failure import Failure
from soliloquy.runtime.topics import origin
from soliloquy.runtime.transports.kafka import KafkaSettings
from soliloquy.runtime.transports.opening import open_transport
from soliloquy.runtime.transports.port import Delivery, Transport

T = TypeVar("T")


@click.group(cls=Group)
def dlq() -> None:
    """Show events that could not be handled, and replay them.

    They belong to the run of a dataset, named by its folder, or to a Kafka.
    """


@dlq.command("list")
@click.argument("words", metavar="DIR", nargs=-1)
def list_letters(words: tuple[str, ...], kafka: KafkaSettings | None = KAFKA) -> None:
    """List the dead letters."""

    async def read(transport: Transport) -> list[Delivery]:
        return [letter async for letter in reading.letters(transport)]

    place, rest = _place_and_ids(words, kafka)
    if rest:
        raise click.UsageError(f"unexpected argument {rest[0]!r}: use dlq show for a single letter")
    letters = _at(place, read)
    if not letters:
        echo("no dead letters")
        return
    for letter in letters:
        event = letter.event
        made = datetime.fromtimestamp(event.time, UTC).strftime("%Y-%m-%d %H:%M:%S")
        line = f"{event.id}  {origin(event.topic)}  {made}  after {event.attempt} attempts\n    {event.error}"
        echo(line)


@dlq.command("show")
@click.argument("words", metavar="DIR ID", nargs=-1)
def show_letter(words: tuple[str, ...], kafka: KafkaSettings | None = KAFKA) -> None:
    """Show a dead letter: its headers, error and message."""
    place, ids = _place_and_ids(words, kafka)
    if len(ids) != 1:
        raise click.UsageError("dlq show requires one ID: dlq list shows them")
    event = _at(place, lambda transport: reading.letter(transport, ids[0])).event
    for name in ("id", "topic", "key", "source", "attempt", "error"):
        echo(f"{name}: {getattr(event, name)}")
    try:
        echo(MessageToString(message_of(event), as_utf8=True))
    except Undecodable:
        echo(f"payload: {event.payload!r}")


@dlq.command("replay")
@click.argument("words", metavar="DIR [ID]...", nargs=-1)
def replay_letters(words: tuple[str, ...], kafka: KafkaSettings | None = KAFKA) -> None:
    """Replay dead letters to the topics they came from: those named, or all of them."""
    place, ids = _place_and_ids(words, kafka)
    replayed = _at(place, lambda transport: reading.replay(transport, ids))
    after = "the services continue with them" if kafka else f"run the command of {place} again to continue"
    echo(f"{replayed} put back; {after}")


def _place_and_ids(words: Sequence[str], kafka: KafkaSettings | None) -> tuple[KafkaSettings | Path, Sequence[str]]:
    """Returns where the letters are, and the ids."""
    if kafka:
        return kafka, words
    if not words:
        raise click.UsageError("dlq requires the DIR of a dataset or --kafka HOST:PORT")
    folder = Path(words[0])
    if not folder.is_dir():
        raise click.UsageError(f"{words[0]!r} is not a folder")
    return folder, words[1:]


def _at(place: KafkaSettings | Path, use: Callable[[Transport], Awaitable[T]]) -> T:
    async def run() -> T:
        async with open_transport(place if isinstance(place, KafkaSettings) else _log(place)) as transport:
            return await use(transport)

    return asyncio.run(run())


def _log(folder: Path) -> Path:
    log = folder / LOG
    if not log.exists():
        raise Failure(f"{folder} has no event log: its run is complete or never started")
    return log
