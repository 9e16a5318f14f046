"""A client that asks the stand-in in batches, and the process that sends them."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import Any

import pytest

from benchmarks.endpoint.batches import BatchFaults
from benchmarks.endpoint.server import FakeEndpoint
from benchmarks.endpoint.settings import EndpointSettings
from soliloquy.runtime.model import batch_sender
from soliloquy.runtime.model.agreements import agreement_with
from soliloquy.runtime.model.batch_queue import BatchQueue
from soliloquy.runtime.model.batch_sender import BatchSenders, open_senders
from soliloquy.runtime.model.batch_table import BatchTable
from soliloquy.runtime.model.keys import Key
from soliloquy.runtime.model.openai_client import OpenAIClient
from soliloquy.runtime.model.settings import Endpoint, Models
from soliloquy.runtime.model.settings_file import shipped_models
from soliloquy.runtime.model.spending import Spending
from soliloquy.v1.model_pb2 import GenerateRequest, Sampling
from tests.unit.model.hosted import ENGINE
from tests.unit.scripted.driver import opening

NAME = "openai"
LATENCY = 0.05
# The dialect with each form of batches; the endpoint and its settings speak the same.
DIALECT_OF = {"files": "", "messages": "anthropic"}


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    """Looks, polls and pauses for moments."""
    moments = {"LOOK_SECONDS": 0.02, "POLL_SECONDS": (0.02, 0.1), "SHOW_SECONDS": 0.2, "_PAUSES": (0.02, 0.1)}
    for name, seconds in moments.items():
        monkeypatch.setattr(batch_sender, name, seconds)


def faulty(*, dialect: str = "", **faults: Any) -> FakeEndpoint:
    settings = EndpointSettings(batch_latency=LATENCY, dialect=dialect, batch_faults=BatchFaults(**faults))
    return FakeEndpoint(ENGINE, settings)


def asked(seed: int) -> GenerateRequest:
    request = opening(seed)
    request.role = "student"
    request.sampling.CopyFrom(Sampling(temperature=0.5, top_p=0.9, max_tokens=100))
    return request


def models_at(url: str, **settings: Any) -> Models:
    own = {"model": "scripted", "batch": True, "batch_size": 3, "batch_age": 0.3, **settings}
    return shipped_models().only_at(Endpoint(engine="openai", base_url=url, **own))


@asynccontextmanager
async def sending(models: Models, folder: Path) -> AsyncIterator[BatchSenders]:
    """The process of a run that sends its batches, while the context is entered."""
    spending = Spending(folder / "spending.sqlite")
    async with open_senders(models, spending, folder) as senders:
        task = asyncio.create_task(senders.run())
        try:
            yield senders
        finally:
            task.cancel()
            with suppress(asyncio.CancelledError):
                await task
            spending.close()


@asynccontextmanager
async def waiting(models: Models, folder: Path) -> AsyncIterator[OpenAIClient]:
    """A process of a run that asks."""
    # A port may be that of an earlier test.
    agreement_with.cache_clear()
    endpoint = models.endpoints[NAME]
    spending = Spending(folder / "spending.sqlite")
    queue = BatchQueue(NAME, endpoint, BatchTable(spending))
    client = OpenAIClient(NAME, endpoint, Key("", "OPENAI_API_KEY"), None, queue)
    try:
        yield client
    finally:
        await client.close()
        spending.close()


@asynccontextmanager
async def at_work(fake: FakeEndpoint, folder: Path, **settings: Any) -> AsyncIterator[OpenAIClient]:
    """A client whose requests are sent in batches."""
    async with fake.serving("127.0.0.1:0") as url:
        models = models_at(url, **settings)
        async with sending(models, folder), waiting(models, folder) as client:
            yield client


async def ask_all(client: OpenAIClient, number: int) -> list[str]:
    async with asyncio.timeout(60):
        answers = await asyncio.gather(*(client.ask(asked(seed), 0.0) for seed in range(number)))
    return [answer.text for answer in answers]


def accounts(folder: Path) -> dict[str, int]:
    """The requests that were counted, by outcome."""
    return {row["outcome"]: row["requests"] for row in Spending(folder / "spending.sqlite").accounts()}
