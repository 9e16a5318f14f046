"""Answers keep to a schema, although the model by itself writes noise."""

import asyncio
import inspect
import json
from collections.abc import AsyncGenerator, AsyncIterator
from pathlib import Path
from typing import Any

import pytest
import pytest_asyncio

from soliloquy.recipes.answers import Decision, Program
from soliloquy.recipes.soliloquy.answers import Reply
from soliloquy.runtime.answers import Answer
from soliloquy.runtime.model_answer import repeats_itself
from soliloquy.v1.model_pb2 import Finish
from soliloquy_services.model.engines.chat import ChatBackend
from soliloquy_services.model.engines.engine import InvalidRequest, TokenDelta, TokenRequest
from soliloquy_services.model.engines.settings import EngineSettings
from tests.cases import each_case
from tests.integration.model.support import answer, request, started
from tests.models import needs_torch

pytestmark = needs_torch
on_one_engine = pytest.mark.asyncio(loop_scope="module")


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def chat(base: Path) -> AsyncIterator[Any]:
    async with started(base) as chat:
        yield chat


@on_one_engine
async def test_every_answer_that_a_recipe_asks_for_keeps_to_its_schema(chat: Any) -> None:
    import jsonschema

    kinds: list[type[Answer]] = [Decision, Program, Reply]
    asked = [(kind, seed, temperature) for kind in kinds for temperature in (0.0, 0.4, 1.0) for seed in range(2)]
    completions = await asyncio.gather(
        *(
            answer(chat, request(schema=kind.json_schema(), seed=seed, temperature=temperature, max_tokens=1000))
            for kind, seed, temperature in asked
        )
    )
    for (kind, _, _), completion in zip(asked, completions, strict=True):
        assert completion.finish == Finish.FINISH_STOP
        # The recipe's own reading: stricter than the schema, and more tolerant of what else is in the text.
        kind.read(completion.text)
        jsonschema.validate(json.loads(completion.text), json.loads(kind.json_schema()))
    assert len({completion.text for completion in completions}) > len(completions) / 2


@on_one_engine
async def test_an_answer_that_ends_before_its_schema_does_says_so(chat: Any) -> None:
    completion = await answer(chat, request(schema=Reply.json_schema(), max_tokens=8))
    assert completion.finish == Finish.FINISH_LENGTH
    assert completion.text.startswith("{")


@on_one_engine
@each_case
async def test_a_schema_that_cannot_be_held_to_is_refused(chat: Any, schema: str, refusal: str) -> None:
    with pytest.raises(InvalidRequest, match=refusal):
        await answer(chat, request(schema=schema))
    assert (await answer(chat, request(max_tokens=2))).completion_tokens == 2


def test_the_library_has_what_the_choice_of_tokens_stands_on() -> None:
    """Internals of transformers: if this fails, check `sampling.py` and `batching.py` against the installed version."""
    from transformers.generation.continuous_batching import cb_logits_processors, requests
    from transformers.generation.continuous_batching.continuous_api import ContinuousBatchingManager

    processors = cb_logits_processors.ContinuousBatchingLogitsProcessorList([])
    assert processors.tensors_required == 0
    assert list(inspect.signature(processors.__call__).parameters) == ["input_ids", "scores", "logits_processor_args"]
    assert {"state", "has_new_token"} <= set(requests.FutureRequestState.__slots__)
    manager = inspect.getsource(ContinuousBatchingManager)
    assert "logit_processor=self.logit_processor" in manager
    assert "result_handlers" in manager


class _Looping:
    """An engine whose model says the same again, numbered, until it is stopped."""

    name, version, fault = "looping", "1", ""
    context_tokens = 4096

    def __init__(self, base: Path) -> None:
        from transformers import AutoTokenizer

        told = "".join(f"{number}. The mass is 3 kg. " for number in range(1, 400))
        self._tokens = AutoTokenizer.from_pretrained(base)(f'{{"text":"{told}')["input_ids"]

    async def start(self) -> None: ...

    async def stop(self) -> None: ...

    async def load_adapter(self, name: str, path: Path) -> None: ...

    async def unload_adapter(self, name: str) -> None: ...

    async def generate(self, request: TokenRequest) -> AsyncGenerator[TokenDelta, None]:
        limit = request.sampling.max_tokens
        for number, token in enumerate(self._tokens[:limit], 1):
            yield TokenDelta(
                tokens=[token], finish=Finish.FINISH_LENGTH if number == limit else Finish.FINISH_UNSPECIFIED
            )


async def test_an_answer_that_repeats_itself_in_a_string_ends_long_before_its_limit(base: Path) -> None:
    chat = ChatBackend(_Looping(base), EngineSettings(model=base))
    await chat.start()
    try:
        held, free = [await answer(chat, request(schema=form, max_tokens=2000)) for form in ('{"type": "object"}', "")]
    finally:
        await chat.stop()
    assert held.finish == Finish.FINISH_LENGTH
    assert held.completion_tokens < 1000
    assert repeats_itself(held.text)
    # Without a schema the model can end its answer by itself.
    assert free.completion_tokens == 2000
