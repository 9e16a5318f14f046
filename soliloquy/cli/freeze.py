"""`soliloquy freeze`."""

import asyncio
import json
from pathlib import Path
from typing import Any

import click

from soliloquy.cli.command import Command
from soliloquy.cli.kafka_options import kafka_options
from soliloquy.cli.options import AS_JSON, EXISTING_FILE, NEW_FOLDER
from soliloquy.cli.terminal import echo
from soliloquy.runtime.transports.kafka import KafkaSettings
from soliloquy.runtime.transports.opening import open_transport


@click.command(cls=Command)
@click.option("--data", metavar="DIR|URL", help="The dataset to freeze; alternatively use --kafka.")
@click.option("--out", required=True, type=NEW_FOLDER, help="The folder to create.")
@click.option(
    "--offsets",
    metavar="FILE",
    type=EXISTING_FILE,
    help="Stop at the offsets in the manifest.json of an earlier freeze; the result is the same.",
)
@click.option(
    "--once",
    is_flag=True,
    help="Do nothing if an earlier freeze has finished in the folder, as when a job starts again.",
)
@AS_JSON
@kafka_options()
def freeze(
    *, kafka: KafkaSettings | None, data: str | None, out: Path, offsets: Path | None, once: bool, as_json: bool
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
    if as_json:
        echo(json.dumps(manifest))
    else:
        echo(f"{manifest['counts']['accepted']} conversations in {out}")


async def _of_topic(kafka: KafkaSettings, offsets: Path | None, out: Path) -> dict[str, Any]:
    from soliloquy_training.freeze import FINISHED, freeze_topic, recorded_offsets

    async with open_transport(kafka) as transport:
        begins, ends = recorded_offsets(offsets) if offsets else ({}, await transport.ends(FINISHED))
        return await freeze_topic(transport, ends, out, begins=begins)
