"""`soliloquy tail`: shows conversations as they finish."""

import asyncio
import time
from collections.abc import AsyncGenerator, Iterator
from contextlib import aclosing

import click

from soliloquy.cli.command import Command, setting
from soliloquy.cli.kafka_options import KAFKA
from soliloquy.cli.show import record_of
from soliloquy.cli.tables import conversation_line
from soliloquy.cli.terminal import echo, json_line
from soliloquy.dataset.reading import Dataset, NoDataset
from soliloquy.runtime.events import Undecodable, message_of
from soliloquy.runtime.failure import Failure
from soliloquy.runtime.topics import TOPIC_OF
from soliloquy.runtime.transports.kafka import KafkaSettings
from soliloquy.runtime.transports.opening import open_transport
from soliloquy.v1.conversation_pb2 import Conversation, Summary
from soliloquy.v1.events_pb2 import ConversationFinished

LOOK_SECONDS = 1.0


@click.command(cls=Command)
@click.argument("folder", metavar="[DIR|URL]", required=False)
def tail(
    *,
    follow: bool = setting("Continue with conversations as they finish, until Ctrl-C."),
    after: str | None = setting("Continue after a place that tail printed before.", metavar="PLACE"),
    as_json: bool = setting("Print each as a JSON object; `after` holds its place.", "--json"),
    folder: str | None,
    kafka: KafkaSettings | None = KAFKA,
) -> None:
    """Print a line for each conversation in a dataset's shards so far, or with --kafka for each that finishes."""
    if (folder is None) == (kafka is None):
        raise click.UsageError("tail requires either the DIR of a dataset or --kafka HOST:PORT")
    place = None
    try:
        if kafka is not None:
            asyncio.run(_print_events(kafka, after, follow=follow, as_json=as_json))
            return
        assert folder is not None
        for place, conversation in _in_shards(folder, after, follow=follow):
            echo(_json(place, conversation) if as_json else _line(conversation))
    finally:
        if folder is not None and place is not None and not as_json:
            echo(f"to continue from here: --after {place}", err=True)


def _in_shards(folder: str, after: str | None, *, follow: bool) -> Iterator[tuple[str, Conversation]]:
    while True:
        try:
            for place, conversation in Dataset(folder).placed(after=after):
                yield place, conversation
                after = place
        except NoDataset:
            # A run may not have its first shard yet.
            if not follow or after is not None:
                raise
        if not follow:
            return
        time.sleep(LOOK_SECONDS)


async def _print_events(kafka: KafkaSettings, after: str | None, *, follow: bool, as_json: bool) -> None:
    starts = _starts(after)
    try:
        async with aclosing(_finished(kafka, starts, follow=follow)) as finished:
            async for conversation in finished:
                echo(_json(_place(starts), conversation) if as_json else _line(conversation))
    finally:
        if starts and not as_json:
            echo(f"to continue from here: --after {_place(starts)}", err=True)


async def _finished(
    kafka: KafkaSettings, starts: dict[int, int], *, follow: bool
) -> AsyncGenerator[Conversation, None]:
    """Updates `starts`, the next offset of each partition."""
    topic = TOPIC_OF[ConversationFinished].name
    async with open_transport(kafka) as transport:
        events = transport.follow(topic, dict(starts)) if follow else transport.read(topic)
        async with aclosing(events) as deliveries:
            async for delivery in deliveries:
                number = delivery.partition.number
                if delivery.offset < starts.get(number, 0):
                    continue
                starts[number] = delivery.offset + 1
                try:
                    message = message_of(delivery.event)
                except Undecodable as error:
                    told = f"soliloquy: {topic}, partition {number}, offset {delivery.offset}: {error}"
                    echo(told, err=True)
                    continue
                assert isinstance(message, ConversationFinished)
                yield message.conversation


def _starts(after: str | None) -> dict[int, int]:
    pairs = [pair.partition(":") for pair in (after or "").split(",") if pair]
    if not all(partition.isdecimal() and offset.isdecimal() for partition, _, offset in pairs):
        raise Failure(f"invalid place {after!r}: use partitions and offsets, e.g. 0:12,3:40")
    return {int(partition): int(offset) for partition, _, offset in pairs}


def _place(starts: dict[int, int]) -> str:
    return ",".join(f"{partition}:{offset}" for partition, offset in sorted(starts.items()))


def _line(conversation: Conversation) -> str:
    problem, turns = conversation.problem, conversation.turns
    programs = sum(turn.HasField("calculation") for turn in turns)
    summary = Summary(topic=problem.topic, question=problem.question, turns=len(turns), python_turns=programs)
    return conversation_line(conversation.id[:8], conversation.ending, summary)


def _json(place: str, conversation: Conversation) -> str:
    return json_line({"after": place, **record_of(conversation)})
