"""`soliloquy freeze`: conversations as they stand, for a training that anybody can repeat."""

import asyncio
import json
from pathlib import Path
from typing import Any

import click

from soliloquy.cli.kafka_options import kafka_options
from soliloquy.runs.failure import Failure
from soliloquy.runtime.transports.kafka import KafkaSettings, KafkaUnavailable
from soliloquy.runtime.transports.opening import open_transport
from soliloquy.runtime.transports.port import Unanswered


@click.command()
@click.option("--data", metavar="DIR|URL", help="A dataset; or name a Kafka.")
@click.option("--out", required=True, type=click.Path(path_type=Path, file_okay=False), help="The folder to make.")
@click.option(
    "--offsets",
    metavar="FILE",
    type=click.Path(path_type=Path, exists=True, dir_okay=False),
    help="The manifest.json of an earlier freeze: up to the same offsets, which gives the same bytes.",
)
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object and nothing else.")
@kafka_options()
def freeze(*, kafka: KafkaSettings | None, data: str | None, out: Path, offsets: Path | None, as_json: bool) -> None:
    """Write the accepted conversations of a dataset, or of a Kafka's conversation.finished, into a folder of their own.

    It is a dataset that does not grow: Parquet shards, and a manifest with the offsets or digests of what was read.
    """
    if (data is None) == (kafka is None):
        raise click.UsageError("what is to be frozen? Name either --data or --kafka")
    if offsets and kafka is None:
        raise click.UsageError("--offsets says nothing without --kafka")
    from training.settings import CannotTrain

    try:
        manifest = _frozen(data, kafka, offsets, out)
    except (CannotTrain, KafkaUnavailable, Unanswered) as error:
        raise Failure(str(error)) from error
    if as_json:
        click.echo(json.dumps(manifest))
    else:
        click.echo(f"{manifest['counts']['accepted']} conversations in {out}")


def _frozen(data: str | None, kafka: KafkaSettings | None, offsets: Path | None, out: Path) -> dict[str, Any]:
    from training.freeze import freeze_dataset

    if kafka is None:
        assert data is not None
        return freeze_dataset(data, out)
    return asyncio.run(_of_topic(kafka, offsets, out))


async def _of_topic(kafka: KafkaSettings, offsets: Path | None, out: Path) -> dict[str, Any]:
    from training.freeze import FINISHED, freeze_topic, recorded_offsets

    async with open_transport(kafka) as transport:
        begins, ends = recorded_offsets(offsets) if offsets else ({}, await transport.ends(FINISHED))
        return await freeze_topic(transport, ends, out, begins=begins)
