"""`soliloquy backup` and `soliloquy recover`: datasets that outlive their disk, and runs that outlive their Kafka."""

from dataclasses import asdict

import click
import uvloop

from soliloquy.cli.command import Command
from soliloquy.cli.options import AS_JSON
from soliloquy.cli.service_options import REQUIRED_KAFKA
from soliloquy.cli.terminal import answer
from soliloquy.dataset.backup import back_up
from soliloquy.runs.recovery import Recovered
from soliloquy.runs.recovery import recover as recovered
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
def recover(store: str, *, kafka: KafkaSettings = REQUIRED_KAFKA, as_json: bool = AS_JSON) -> None:
    """Tell a Kafka that has lost its data which runs there are, from the collector's --data or --store.

    Stop all services, run `soliloquy topics apply` and then this, and start them again: runs that were not over go on,
    and the others are listed as before. Conversations that were under way, or among the dead letters, are held anew.
    """

    async def run() -> list[Recovered]:
        async with open_transport(kafka) as transport:
            return [one async for one in recovered(store, transport)]

    found = uvloop.run(run())
    lines = [
        f"{one.run}: {_state(one)}, {one.accepted} accepted, {one.rejected} rejected"
        + (f"; {one.again} problems are tried again" if one.again else "")
        for one in found
    ]
    told = {"runs": [asdict(one) | {"state": _state(one)} for one in found]}
    answer(told, lines or [f"the topics know every run of {store}"], as_json=as_json)


def _state(one: Recovered) -> str:
    return RunState.Name(one.state).removeprefix("RUN_STATE_").lower() if one.state else "not of the gateway"
