"""Runs beside the pipeline in one process: a model service's engine with callers, and a training.

`python -m tests.integration.observability.beside FOLDER ADDRESS STEPS` serves their metrics until it is ended.
"""

import asyncio
import itertools
import os
import sys
from contextlib import suppress
from pathlib import Path

from benchmarks.random_weights import make_adapter, make_base
from soliloquy.cli.launching import following
from soliloquy.cli.observing import serving_metrics
from soliloquy.v1.model_pb2 import Adapter
from soliloquy_services.model.engines.engine import InvalidRequest
from soliloquy_training.folder import Job
from soliloquy_training.train import train
from tests.integration.model.support import answer, request, started
from tests.integration.training.conftest import SETTINGS
from tests.unit.training.growing import conversations, dataset

PAUSE_SECONDS = 1.0


async def ask(folder: Path) -> None:
    """Uses the base model and an adapter at once, with an occasional request that cannot be answered."""
    base = make_base(folder / "tiny")
    async with started(base) as chat:
        await chat.load_adapter(Adapter(name="algebra", path=str(make_adapter(folder / "algebra", base, 0))))
        for number in itertools.count():
            asked = [request(f"Why, {number}?", adapter=name, max_tokens=8) for name in ("", "algebra")]
            await asyncio.gather(*(answer(chat, each) for each in asked))
            if number % 5 == 0:
                with suppress(InvalidRequest):
                    await answer(chat, request(max_tokens=-1))
            await asyncio.sleep(PAUSE_SECONDS)


def learn(folder: Path, steps: int) -> None:
    settings = SETTINGS.model_copy(update={"epochs": steps, "max_steps": steps})
    data = dataset(folder / "learned", conversations(3))
    job = Job(settings=settings, base=make_base(folder / "nano", "nano"), data=str(data), folder=folder / "training")
    with following(job.folder, quiet=True):
        train(job)


async def main(folder: Path, address: str, steps: int) -> None:
    # The pipeline is under test here.
    os.nice(10)
    with serving_metrics(address):
        await asyncio.gather(ask(folder), asyncio.to_thread(learn, folder, steps))


if __name__ == "__main__":
    asyncio.run(main(Path(sys.argv[1]), sys.argv[2], int(sys.argv[3])))
