import asyncio
from pathlib import Path
from typing import Any

import click

from soliloquy.cli.command import Command, setting
from soliloquy.cli.kafka_options import KAFKA
from soliloquy.cli.options import AS_JSON, EXISTING_FILE, NEW_FOLDER
from soliloquy.cli.terminal import answer
from soliloquy.runtime.transports.kafka import KafkaSettings
from soliloquy.runtime.transports.opening import open_transport


@click.command(cls=Command)
def freeze(
    *,
    data: str | None = setting("The dataset to freeze; alternatively use --kafka.", metavar="DIR|URL"),
    out: Path = setting("The folder to create.", type=NEW_FOLDER),
    offsets: Path | None = setting(
        "Stop at the offsets in the manifest.json of an earlier freeze; the result is the same.", type=EXISTING_FILE
    ),
    once: bool = setting("Do nothing if an earlier freeze has finished in the folder, as when a job starts again."),
    as_json: bool = AS_JSON,
    kafka: KafkaSettings | None = KAFKA,
) -> None:
    """Copy the accepted conversations of a dataset, or of the Kafka topic conversation.finished, into a new folder.

    The result is a dataset that does not grow, so that a training can be repeated. Its manifest records the offsets or
    digests of the input.
    """
    if (data is None) == (kafka is None):
        raise click.UsageError("freeze requires either --data or --kafka")
    if offsets and kafka is None:
        raise click.UsageError("--offsets requires --kafka")
    from soliloquy_training.freeze import finished_freeze, freeze_dataset

    if once and (finished := finished_freeze(out)):
        manifest = finished
    elif kafka is not None:
        manifest = asyncio.run(_of_topic(kafka, offsets, out))
    elif data is not None:
        manifest = freeze_dataset(data, out)
    answer(manifest, [f"{manifest['counts']['accepted']} conversations in {out}"], as_json=as_json)


async def _of_topic(kafka: KafkaSettings, offsets: Path | None, out: Path) -> dict[str, Any]:
    from soliloquy_training.freeze import FINISHED, freeze_topic, recorded_offsets

    async with open_transport(kafka) as transport:
        begins, ends = recorded_offsets(offsets) if offsets else ({}, await transport.ends(FINISHED))
        return await freeze_topic(transport, ends, out, begins=begins)
