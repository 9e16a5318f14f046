"""`python -m benchmarks.endpoint`: `soliloquy model fake` with dialects, batches, caches, manners and storms."""

import asyncio
from pathlib import Path
from typing import Any

import click

from benchmarks.endpoint.batches import BATCH_FAULTS, BatchFaults
from benchmarks.endpoint.server import FakeEndpoint
from benchmarks.endpoint.settings import EndpointSettings
from soliloquy.cli.model_fake import FAULTS, shares, until_stopped
from soliloquy.cli.options import DURATION
from soliloquy.runs.model import ModelSettings, scripted_model
from soliloquy.runtime.model.dialects import dialects


@click.command()
@click.option("--http", "address", default="127.0.0.1:0")
@click.option("--noise", default="none")
@click.option("--fault", "faults", multiple=True, callback=shares(*FAULTS, *BATCH_FAULTS))
@click.option("--retry-after", default="1")
@click.option("--dialect", default="", type=click.Choice(["", *sorted(dialects())]))
@click.option("--key-file", type=click.Path(exists=True, dir_okay=False, path_type=Path))
@click.option("--latency", default="0s", type=DURATION)
@click.option("--period", default="0s", type=DURATION)
@click.option("--storm", default="0s", type=DURATION)
@click.option("--batch-latency", default="1s", type=DURATION)
@click.option("--prefix-cache", type=click.IntRange(min=0))
@click.option("--seed", default=0)
def main(*, address: str, noise: str, faults: dict[str, Any], key_file: Path | None, **settings: Any) -> None:
    of_batches = {name: faults.pop(name) for name in BATCH_FAULTS if name in faults}
    endpoint = EndpointSettings(
        **faults,
        **settings,
        batch_faults=BatchFaults(**of_batches),
        key=key_file.read_text("utf-8").strip() if key_file else "",
    )
    noisy = scripted_model(ModelSettings(noise=noise)) if noise != "none" else None
    asyncio.run(until_stopped(FakeEndpoint(scripted_model(ModelSettings()), endpoint, noisy), address))


if __name__ == "__main__":
    main()
