"""The metrics of an engine's requests."""

from contextlib import aclosing
from pathlib import Path

import pytest
from prometheus_client import REGISTRY

from soliloquy.v1.model_pb2 import Adapter
from soliloquy_services.model.engines.engine import InvalidRequest
from tests.integration.model.support import answer, request, started
from tests.models import needs_torch

pytestmark = needs_torch


def value(name: str, **labels: str) -> float | None:
    return REGISTRY.get_sample_value(f"soliloquy_model_{name}", {"engine": "transformers", **labels})


def ended() -> list[float]:
    """Returns how many requests of an adapter were cut off at their limit, and how many given up."""
    ends = ("length", "aborted")
    return [value("requests_ended_total", adapter="mechanics", end=end) or 0.0 for end in ends]


async def test_tokens_are_counted_by_adapter_and_requests_by_how_they_end(base: Path, adapters: list[Adapter]) -> None:
    async with started(base) as chat:
        await chat.load_adapter(adapters[0])
        completion = await answer(chat, request(adapter="algebra"))
        assert value("prompt_tokens_total", adapter="algebra") == completion.prompt_tokens
        assert value("completion_tokens_total", adapter="algebra") == completion.completion_tokens
        assert value("first_token_seconds_count", adapter="algebra") == 1
        assert value("adapters") == 1
        await chat.unload_adapter("algebra")
        assert value("prompt_tokens_total", adapter="algebra") is None
        assert value("adapters") == 0
        await chat.load_adapter(adapters[1])
        before = ended()
        await answer(chat, request(adapter="mechanics", max_tokens=2))
        async with aclosing(chat.stream(request(adapter="mechanics", max_tokens=1000))) as deltas:
            await anext(deltas)
            assert value("running") == 1
        refused = value("requests_refused_total", reason="InvalidRequest") or 0
        with pytest.raises(InvalidRequest):
            await answer(chat, request(adapter="mechanics", max_tokens=-1))
        assert value("requests_refused_total", reason="InvalidRequest") == refused + 1
        assert ended() == [number + 1 for number in before]
        assert value("running") == 0
    assert value("adapters") is None
