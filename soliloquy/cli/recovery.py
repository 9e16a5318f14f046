"""`soliloquy backup`, `recover` and `forget`: what outlives a disk, or a Kafka, and what nothing outlives."""

from collections.abc import Sequence
from dataclasses import asdict
from datetime import UTC, datetime, timedelta

import click
import uvloop

from soliloquy.cli.command import Command, option, setting
from soliloquy.cli.options import AS_JSON
from soliloquy.cli.service_options import KAFKA
from soliloquy.cli.terminal import answer
from soliloquy.dataset.backup import back_up
from soliloquy.dataset.forgetting import forget as forgotten
from soliloquy.dataset.layout import TABLES
from soliloquy.runs.recovery import Recovered
from soliloquy.runs.recovery import recover as recovered
from soliloquy.runtime.topics import Shape, is_retry, shapes
from soliloquy.runtime.transports.kafka import KafkaSettings
from soliloquy.runtime.transports.opening import open_transport
from soliloquy.v1.runs_pb2 import RunState


@click.command(cls=Command)
@click.argument("source", metavar="DIR|URL")
@click.argument("target", metavar="DIR|URL")
def backup(source: str, target: str, *, as_json: bool = AS_JSON) -> None:
    """Copy all datasets of a collector, from its --data or --store to another folder or object store.

    The collector may go on meanwhile. A repeat copies only what is new; every file is compared with its checksum. The
    other way round it brings them back.
    """
    copied = list(back_up(source, target))
    files, size = sum(one.files for one in copied), sum(one.bytes for one in copied)
    summary = f"{target}: {len(copied)} datasets, of which {files:,} files with {size:,} bytes are new"
    answer({"datasets": [asdict(one) for one in copied]}, [summary], as_json=as_json)


@click.command(cls=Command)
@click.argument("store", metavar="DIR|URL")
def recover(store: str, *, kafka: KafkaSettings | None = KAFKA, as_json: bool = AS_JSON) -> None:
    """Tell a Kafka that has lost its data which runs there are, from the collector's --data or --store.

    Stop all services, run `soliloquy topics apply` and then this, and start them again: runs that were not over go on,
    and the others are listed as before. Conversations that were under way, or among the dead letters, are held anew.
    Tables belong to this Kafka afterwards, and collectors of another one no longer write to them.

    A catalog that has lost the tables of a store is told of them before, from the files of its warehouse. That needs
    no --kafka, and collectors go on by themselves.
    """
    restored = _restored(store)
    if not (kafka or restored):
        raise click.UsageError(f"recover requires --kafka HOST:PORT: {store} itself has lost nothing")

    async def run(kafka: KafkaSettings) -> list[Recovered]:
        async with open_transport(kafka) as transport:
            return [one async for one in recovered(store, transport)]

    found = uvloop.run(run(kafka)) if kafka else []
    lines = [f"{store}: {name} is registered as {file} says" for name, file in restored.items()]
    lines += [
        f"{one.run}: {_state(one)}, {one.accepted} accepted, {one.rejected} rejected"
        + (f"; {one.again} problems are tried again" if one.again else "")
        for one in found
    ]
    told = {"tables": restored, "runs": [asdict(one) | {"state": _state(one)} for one in found]}
    answer(told, lines or [f"the topics know every run of {store}"], as_json=as_json)


def _restored(store: str) -> dict[str, str]:
    if not store.startswith(TABLES):
        return {}
    # Imported here because only tables need it.
    from soliloquy.dataset.iceberg.restoring import restore
    from soliloquy.dataset.iceberg.tables import Location

    return restore(Location.parsed(store))


@click.command(cls=Command)
@click.argument("dataset", metavar="DIR|URL")
def forget(
    dataset: str,
    *,
    conversation: Sequence[str] = option("The id of a conversation to remove.", metavar="ID", multiple=True),
    run: bool = setting("Remove all conversations of the dataset."),
    as_json: bool = AS_JSON,
) -> int:
    """Remove conversations from a dataset for good, and print a certificate: what was removed, and what expires when.

    No collector brings them back from Kafka, whose topics drop them with their other events. The collector of a folder
    must be stopped meanwhile. The exit status is 1 if a conversation was not there.
    """
    if run == bool(conversation):
        raise click.UsageError("forget requires --conversation ID, once or more often, or --run")
    removed = forgotten(dataset, None if run else conversation)
    missing = sorted(set(conversation) - removed)
    now = datetime.now(UTC)
    expires = {shape.topic: _day(now, shape) for shape in shapes() if "retention.ms" in shape.configs}
    certificate = {
        "dataset": dataset,
        "at": now.isoformat(timespec="seconds"),
        "removed": "all" if run else sorted(removed),
        "missing": missing,
        "expires": expires,
        "elsewhere": list(_ELSEWHERE),
    }
    what = "all conversations are" if run else "1 conversation is" if len(removed) == 1 else f"{len(removed)} are"
    lines = [f"{dataset}: {what} removed on {now:%Y-%m-%d %H:%M} UTC"]
    lines += [f"not there: {one}" for one in missing]
    for day in sorted(set(expires.values())):
        topics = ", ".join(topic for topic, last in expires.items() if last == day and not is_retry(topic))
        lines.append(f"gone from Kafka by {day}: {topics}")
    answer(certificate, [*lines, *(f"elsewhere: {one}" for one in _ELSEWHERE)], as_json=as_json)
    return 1 if missing else 0


# Kafka's own setting where topics.toml has none.
_SEGMENT_MS = 604_800_000
_ELSEWHERE = (
    "backups: soliloquy backup again removes it there",
    "the gateway's database: the row of its id in the table finished has its question",
    "tables: soliloquy compact removes the earlier states that hold it",
    "exports, reports, recordings of a model's answers and traces: remove what was made of it",
    "adapters: one that was trained on it lists the dataset in its data",
)


def _day(now: datetime, shape: Shape) -> str:
    """Returns when a topic holds nothing of now: only whole segments go."""
    kept = int(shape.configs["retention.ms"]) + int(shape.configs.get("segment.ms", _SEGMENT_MS))
    return (now + timedelta(milliseconds=kept)).strftime("%Y-%m-%d")


def _state(one: Recovered) -> str:
    return RunState.Name(one.state).removeprefix("RUN_STATE_").lower() if one.state else "not of the gateway"
