"""`soliloquy verify`, `report`, `compare` and `tail`: what a dataset holds."""

import asyncio
import time
from collections.abc import AsyncGenerator, Iterator
from contextlib import aclosing
from dataclasses import asdict
from pathlib import Path
from typing import Any

import click

from soliloquy.cli.command import Command, setting
from soliloquy.cli.options import AS_JSON, NewFile, writing_to
from soliloquy.cli.service_options import KAFKA
from soliloquy.cli.show import record_of
from soliloquy.cli.tables import conversation_line, table
from soliloquy.cli.terminal import answer, echo, json_line
from soliloquy.dataset.card import CARD, card
from soliloquy.dataset.manner import SPEAKERS, Manner
from soliloquy.dataset.reading import Dataset, MissingDataset
from soliloquy.dataset.report.writing import REPORT, is_report, write_report
from soliloquy.dataset.telling_apart import LEAST, ToldApart, tell_apart
from soliloquy.dataset.verify import findings_at
from soliloquy.problems.bank.bank import catalogue
from soliloquy.runtime.events import Undecodable, message_of
from soliloquy.runtime.failure import Failure
from soliloquy.runtime.topics import TOPIC_OF
from soliloquy.runtime.transports.kafka import KafkaSettings
from soliloquy.runtime.transports.opening import open_transport
from soliloquy.v1.conversation_pb2 import Conversation, Summary
from soliloquy.v1.events_pb2 import ConversationFinished


@click.command(cls=Command)
@click.argument("place", metavar="DIR|URL")
def verify(place: str, *, as_json: bool = AS_JSON) -> int:
    """Recompute every count and checksum of a dataset, and look for conversations that are in it twice.

    Prints a line for each difference from its manifest or table. The exit status is 0 if there are none and 1 if there
    are some.
    """
    found = [*findings_at(place)]
    matched = [] if found else [_matched(place)]
    answer({"dataset": place, "findings": found}, found or matched, as_json=as_json)
    return 1 if found else 0


def _matched(place: str) -> str:
    accepted, rejected = (Dataset(place).count(rejected=one) for one in (False, True))
    return f"{place}: {accepted:,} accepted and {rejected:,} rejected conversations, each once"


class _Page(NewFile):
    """A page to write; only an earlier report is replaced."""

    def is_ours(self, path: Path) -> bool:
        return is_report(path)


@click.command(cls=Command)
@click.argument("place", metavar="DIR|URL")
def report(
    place: str,
    *,
    out: Path | None = setting(
        f"The page to write.  [default: {REPORT} in DIR]", type=_Page(path_type=Path, dir_okay=False)
    ),
) -> None:
    """Write an HTML page with the statistics and all conversations of a dataset.

    The page needs no network. Also writes a dataset card if DIR has none, or says that it differs; beside the page, if
    the dataset is no folder.
    """
    dataset = Dataset(place)
    if out is None and not Path(place).is_dir():
        raise click.UsageError(f"report requires --out, because {place} is not a folder")
    page = out or Path(place) / REPORT
    with writing_to(page):
        counted = write_report(dataset, page, catalogue)
        described = (Path(place) if Path(place).is_dir() else page.parent) / CARD
        text = card(counted)
        if not described.exists():
            described.write_text(text, "utf-8")
        elif described.read_text("utf-8") != text:
            echo(f"{described} has other words or figures and is kept: remove it for a new card", err=True)
    echo(f"The report: {page.resolve().as_uri()}")


# The features that give one away most.
_SHOWN = 12


@click.command(cls=Command)
@click.argument("ours", metavar="DIR|URL")
@click.argument("theirs", metavar="DIR|URL")
def compare(ours: str, theirs: str, *, as_json: bool = AS_JSON) -> None:
    """Compare how people talk in two datasets, and tell them apart.

    Prints measures of variety, uptake, repetition and causes of mistakes side by side, and what students do after each
    act of a tutor. A linear model learns to tell conversations of the first from the second: its accuracy is of
    conversations that it has not seen, and the features with most weight are what gives them away. `soliloquy import`
    makes a dataset of other people's conversations.
    """
    sides = [_manner(folder) for folder in (ours, theirs)]
    told = tell_apart(*(side.talks for side in sides))
    answer(_compared(sides, told), _comparison((ours, theirs), sides, told), as_json=as_json)


def _comparison(folders: tuple[str, str], sides: list[Manner], told: ToldApart | None) -> Iterator[object]:
    yield table("", *folders, rows=_rows(sides), align="left")
    for folder, side in zip(folders, sides, strict=True):
        heads = (f"after the tutor's, in {folder}", "answers", "asks", "neither")
        yield table(*heads, rows=side.reactions(), align="left")
    if told is None:
        yield f"Too few conversations to tell them apart: {LEAST} of each are required."
        return
    yield f"Told apart, unseen: {told.accuracy:.1%} right (chance 50%), area under the curve {told.auc:.3f}"
    features = [(one.name, f"{one.weight:+.2f}", f"{one.ours:.2f}", f"{one.theirs:.2f}") for one in told.features]
    yield table("what gives them away", "weight", *folders, rows=features[:_SHOWN], align="left")


def _manner(folder: str) -> Manner:
    found = Manner()
    for batch in Dataset(folder).batches():
        found.add(batch)
    if not found.is_spoken:
        raise Failure(f"{folder} holds no conversation in which anybody speaks")
    return found


def _rows(sides: list[Manner]) -> list[list[str]]:
    """Returns a row for each measure that either dataset has."""
    size = min(len(side.talks) for side in sides)
    found = [dict(side.figures()) for side in sides]
    names = list(dict.fromkeys(name for figures in found for name in figures))
    rows = [[name, *(figures.get(name, "") for figures in found)] for name in names]
    counted = ["conversations", *(f"{len(side.talks):,}" for side in sides)]
    return [counted, [f"different openings of {size:,}", *(f"{side.openings(size):.2f}" for side in sides)], *rows]


def _compared(sides: list[Manner], told: ToldApart | None) -> dict[str, Any]:
    size = min(len(side.talks) for side in sides)
    return {
        "datasets": [
            {
                "conversations": len(side.talks),
                "openings": side.openings(),
                "openings_at_equal_size": side.openings(size),
                "variety": {one: side.variety(one) for one in SPEAKERS},
                "uptake": side.uptake(),
                "repetition": side.repetition(),
                "verbatim": side.verbatim(),
                "causes": side.causes(),
                "after": side.after(),
                "words_by_turn": {one: side.words_by_turn(one) for one in SPEAKERS},
            }
            for side in sides
        ],
        "told_apart": asdict(told) if told else None,
    }


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
        except MissingDataset:
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
        events = transport.follow(topic, dict(starts)) if follow else transport.read(topic, starts=dict(starts))
        async with aclosing(events) as deliveries:
            async for delivery in deliveries:
                number = delivery.partition.number
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
