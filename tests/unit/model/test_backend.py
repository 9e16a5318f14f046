"""The scripted engine behind the interface that servers call."""

from collections.abc import AsyncGenerator

import pytest

from soliloquy.v1.model_pb2 import Adapter, Delta, Finish, GenerateRequest
from soliloquy_services.model.backend import ScriptedBackend, final_completion
from soliloquy_services.model.engines.engine import EngineFailed, UnknownAdapter
from soliloquy_services.model.engines.scripted import ScriptedEngine
from tests.unit.scripted.driver import opening

ASKED = opening()


@pytest.fixture
def answering() -> ScriptedBackend:
    return ScriptedBackend(ScriptedEngine())


async def test_an_answer_is_streamed_and_whole_at_its_end(answering: ScriptedBackend) -> None:
    deltas = [delta async for delta in answering.stream(ASKED)]
    completion = deltas[-1].completion
    assert "".join(delta.text for delta in deltas) == completion.text != ""
    assert (completion.engine, completion.finish) == ("scripted", Finish.FINISH_STOP)
    assert await final_completion(answering.stream(ASKED)) == completion


async def test_it_has_no_adapters_and_says_so(answering: ScriptedBackend) -> None:
    tuned = GenerateRequest()
    tuned.CopyFrom(ASKED)
    tuned.adapter = "algebra"
    with pytest.raises(UnknownAdapter, match="no adapter 'algebra': leave out the adapter"):
        await final_completion(answering.stream(tuned))
    with pytest.raises(UnknownAdapter):
        await answering.load_adapter(Adapter(name="algebra", path="/adapters/algebra"))
    with pytest.raises(UnknownAdapter):
        await answering.unload_adapter("algebra")
    assert answering.info().engine == "scripted"


async def test_an_answer_that_breaks_off_is_no_answer() -> None:
    async def breaking_off() -> AsyncGenerator[Delta, None]:
        yield Delta(text="The acceleration is ")

    with pytest.raises(EngineFailed, match="broke off before its end: try again"):
        await final_completion(breaking_off())
