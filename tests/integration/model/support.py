"""Helpers of the engine tests: requests, and an engine that runs the small model."""

import asyncio
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from prometheus_client import REGISTRY

from services.model.backend import ModelBackend, final_completion
from services.model.engines.settings import EngineSettings
from soliloquy.v1.model_pb2 import Completion, GenerateRequest, Message, Sampling


def request(text: str = "Why does the cart slow down?", **asked: Any) -> GenerateRequest:
    """Returns a greedy request for 24 tokens, unless the arguments say otherwise."""
    sampling = {name: asked.pop(name) for name in ("temperature", "top_p", "max_tokens") if name in asked}
    return GenerateRequest(
        messages=[Message(role="system", text="You are a tutor."), Message(role="user", text=text)],
        sampling=Sampling(**{"max_tokens": 24, "top_p": 1.0, **sampling}),
        **asked,
    )


async def answer(answering: ModelBackend, asked: GenerateRequest) -> Completion:
    return await final_completion(answering.stream(asked))


def requests(state: str) -> float | None:
    """Returns the gauge of running or waiting requests."""
    return REGISTRY.get_sample_value(f"soliloquy_model_{state}", {"engine": "transformers"})


@asynccontextmanager
async def started(base: Path, **settings: Any) -> AsyncIterator[Any]:
    from services.model.in_process import running_backend

    async with running_backend(EngineSettings(**{"model": base, "cache_tokens": 8192, **settings})) as chat:
        yield chat


async def until(condition: Callable[[], object], seconds: float = 10.0) -> None:
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, f"not within {seconds} s"
        await asyncio.sleep(0.01)
