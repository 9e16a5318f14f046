"""A run says before it begins which prompt a model has no room for, and which model answers in another's name."""

import re
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any

import pytest

from soliloquy.runs.dry_run import require_room
from soliloquy.runs.plan import problems_of
from soliloquy.runtime.failure import Failure
from soliloquy.runtime.model.checking import require_endpoints
from soliloquy.runtime.model.settings import Endpoint, Models
from soliloquy.runtime.model.settings_file import shipped_models
from tests.unit.runs.test_plan import plan
from tests.unit.runtime.model.far import Far, line_to, said


@asynccontextmanager
async def models_at(*listed: dict[str, Any]) -> AsyncIterator[Callable[[str], Models]]:
    """An endpoint that lists these models and answers to any name; makes settings by the name that they have."""
    far = Far(said(200))
    far.listed = [*listed]
    async with line_to(far) as line:
        url = re.findall(r"http[^,]+", line.where)[0]
        yield lambda name: shipped_models().only_at(Endpoint(engine="openai", base_url=url, model=name))


async def test_a_context_without_room_for_a_prompt_is_said_with_the_prompt_and_its_length() -> None:
    async with models_at({"id": "small", "max_model_len": 2048}, {"id": "large", "max_model_len": 9000}) as models:
        with pytest.raises(
            Failure, match=r"context of 2,048 tokens, but soliloquy/\w+ has about [\d,]{5} and its answer"
        ):
            await require_room(plan(models("small")), problems_of("physics", "soliloquy"))
        await require_room(plan(models("large")), problems_of("physics", "soliloquy"))


@pytest.mark.parametrize("owner", ["llamacpp", "me", "vllm"])
async def test_a_server_of_another_model_is_named_although_it_answers_to_any_name(owner: str) -> None:
    async with models_at({"id": "other", "owned_by": owner}) as models:
        with pytest.raises(Failure, match=r"model 'large'\) serves 'other'"):
            await require_endpoints(models("large"), None)
        for name in ("other", "default"):
            await require_endpoints(models(name), None)


async def test_an_endpoint_of_many_models_may_know_more_names_than_it_lists() -> None:
    async with models_at({"id": "one", "owned_by": "house"}, {"id": "two", "owned_by": "house"}) as models:
        await require_endpoints(models("alias"), None)
