"""The model service's calls: one answer per id, however often it is requested, and a status for each error."""

import asyncio
from collections.abc import AsyncGenerator, Awaitable
from pathlib import Path

import pytest
from grpc import StatusCode

from benchmarks.echo import Echo
from soliloquy.runtime.model import ModelRefused
from soliloquy.v1.model_pb2 import Adapter, Delta, Finish, GenerateRequest, LoadAdapterRequest, UnloadAdapterRequest
from soliloquy_services.model.backend import ScriptedBackend, final_completion
from soliloquy_services.model.engines import engine as errors
from soliloquy_services.model.engines.engine import (
    EngineBusy,
    EngineFailed,
    EngineRefused,
    UnknownAdapter,
)
from soliloquy_services.model.engines.scripted import ScriptedEngine
from soliloquy_services.model.errors import error_status
from soliloquy_services.model.handler import MAX_ID_CHARACTERS, MAX_REQUEST_BYTES, MAX_SAMPLES, ModelHandler
from tests.cases import each_case
from tests.unit.model.answers import Held, Seeded, request
from tests.unit.scripted.driver import opening


async def refused(call: Awaitable[object]) -> tuple[StatusCode, str]:
    with pytest.raises((EngineRefused, EngineFailed)) as raised:
        await call
    told, line = error_status(raised.value)
    return told.code, line


async def pieces(deltas: AsyncGenerator[Delta, None]) -> list[str]:
    return [delta.text async for delta in deltas]


async def test_the_same_id_is_not_generated_again() -> None:
    engine = Held()
    engine.let_go.set()
    handler = ModelHandler(engine)
    first = await handler.generate(request(request_id="a"))
    assert await handler.generate(request(request_id="a")) == first
    assert await pieces(handler.stream(request(request_id="a"))) == ["two words"]
    assert engine.asked == 1


async def test_several_samples_are_generated_apart_and_count_their_prompt_once() -> None:
    engine = Seeded()
    handler = ModelHandler(engine)
    several = request(request_id="a")
    several.seed, several.more_seeds[:] = 7, [8, 9]
    answer = await handler.generate(several)
    assert [sample.text for sample in (answer, *answer.more)] == ["seed 7", "seed 8", "seed 9"]
    assert [sample.prompt_tokens for sample in (answer, *answer.more)] == [2, 0, 0]
    assert await handler.generate(several) == answer
    assert engine.asked == 3
    several.more_seeds[:] = range(MAX_SAMPLES)
    assert await refused(handler.generate(several)) == (
        StatusCode.INVALID_ARGUMENT,
        f"{MAX_SAMPLES + 1} samples are above the limit of {MAX_SAMPLES}",
    )


async def test_a_sample_that_fails_ends_the_others_and_is_told_as_it_is() -> None:
    class OneRefused(Held):
        async def stream(self, request: GenerateRequest) -> AsyncGenerator[Delta, None]:
            if request.seed == 9:
                await self.begun.wait()
                raise EngineBusy("64 requests are already waiting")
            async for delta in super().stream(request):
                yield delta

    engine, several = OneRefused(), request()
    several.seed, several.more_seeds[:] = 8, [9]
    told = await refused(ModelHandler(engine).generate(several))
    assert told == (StatusCode.RESOURCE_EXHAUSTED, "64 requests are already waiting")
    assert engine.given_up.is_set()


async def test_the_same_id_joins_the_answer_that_is_under_way() -> None:
    engine = Held()
    handler = ModelHandler(engine)
    whole = asyncio.create_task(handler.generate(request(request_id="a")))
    in_pieces = asyncio.create_task(pieces(handler.stream(request(request_id="a"))))
    await engine.begun.wait()
    engine.let_go.set()
    assert (await whole).text == "two words"
    assert await in_pieces == ["two ", "words"]
    assert engine.asked == 1


async def test_who_leaves_does_not_take_the_answer_from_who_stays() -> None:
    engine = Held()
    handler = ModelHandler(engine)
    leaves, stays = (asyncio.create_task(handler.generate(request(request_id="a"))) for _ in range(2))
    await engine.begun.wait()
    leaves.cancel()
    await asyncio.gather(leaves, return_exceptions=True)
    engine.let_go.set()
    assert (await stays).text == "two words"
    assert (engine.asked, engine.given_up.is_set()) == (1, False)


@pytest.mark.parametrize("request_id", ["a", ""])
async def test_an_answer_that_nobody_waits_for_is_given_up(request_id: str) -> None:
    engine = Held()
    handler = ModelHandler(engine)
    leaves = asyncio.create_task(handler.generate(request(request_id=request_id)))
    await engine.begun.wait()
    leaves.cancel()
    await engine.given_up.wait()
    engine.let_go.set()
    assert (await handler.generate(request(request_id=request_id))).text == "two words"
    assert engine.asked == 2


async def test_a_failure_is_not_remembered() -> None:
    engine = Held()
    engine.let_go.set()
    engine.error = EngineFailed("out of memory")
    handler = ModelHandler(engine)
    assert await refused(handler.generate(request(request_id="a"))) == (StatusCode.UNAVAILABLE, "out of memory")
    engine.error = None
    assert (await handler.generate(request(request_id="a"))).text == "two words"


async def test_an_id_is_of_one_request_only() -> None:
    engine = Held()
    handler = ModelHandler(engine)
    running = asyncio.create_task(handler.generate(request(request_id="a")))
    await engine.begun.wait()
    other = request("other words", request_id="a")
    line = "the id 'a' belongs to another request: use a unique id for each request"
    assert await refused(handler.generate(other)) == (StatusCode.INVALID_ARGUMENT, line)
    engine.let_go.set()
    assert (await running).text == "two words"
    assert await refused(handler.generate(other)) == (StatusCode.INVALID_ARGUMENT, line)


async def test_requests_without_an_id_are_all_different() -> None:
    engine = Held()
    engine.let_go.set()
    handler = ModelHandler(engine)
    await asyncio.gather(*(handler.generate(request()) for _ in range(3)))
    assert engine.asked == 3


async def test_only_the_latest_answers_are_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("soliloquy_services.model.handler.CACHED_ANSWERS", 2)
    engine = Held()
    engine.let_go.set()
    handler = ModelHandler(engine)
    for name in ("a", "b", "c", "b", "c"):
        await handler.generate(request(request_id=name))
    assert engine.asked == 3
    await handler.generate(request(request_id="a"))
    assert engine.asked == 4


async def test_an_engine_with_a_fault_is_asked_nothing() -> None:
    engine = Held()
    engine.broken = "no step for 60 s"
    assert await refused(ModelHandler(engine).generate(request())) == (StatusCode.UNAVAILABLE, "no step for 60 s")
    assert engine.asked == 0


async def test_what_is_too_long_is_refused_with_the_limit() -> None:
    handler = ModelHandler(Echo())
    code, line = await refused(handler.generate(request("x" * MAX_REQUEST_BYTES)))
    assert (code, f"limit of {MAX_REQUEST_BYTES}" in line) == (StatusCode.INVALID_ARGUMENT, True)
    code, line = await refused(handler.generate(request(request_id="x" * (MAX_ID_CHARACTERS + 1))))
    assert (code, f"limit of {MAX_ID_CHARACTERS}" in line) == (StatusCode.INVALID_ARGUMENT, True)


async def test_an_answer_that_breaks_off_is_no_answer() -> None:
    class BreaksOff(Echo):
        async def stream(self, request: GenerateRequest) -> AsyncGenerator[Delta, None]:
            yield Delta(text="half of an ")

    handler = ModelHandler(BreaksOff())
    for call in (handler.generate(request()), pieces(handler.stream(request()))):
        assert await refused(call) == (StatusCode.UNAVAILABLE, "the answer broke off before its end: try again")


async def test_adapters_are_loaded_listed_and_unloaded(tmp_path: Path) -> None:
    (tmp_path / "adapter_model.safetensors").write_bytes(b"weights")
    handler = ModelHandler(Echo())
    asked = LoadAdapterRequest(adapter=Adapter(name="tutor", path=str(tmp_path)))
    loaded = (await handler.load_adapter(asked)).adapter
    assert loaded.digest
    assert list(handler.list_adapters().adapters) == [loaded]
    assert (await handler.generate(request(adapter="tutor"))).adapter_digest == loaded.digest
    await handler.unload_adapter(UnloadAdapterRequest(name="tutor"))
    code, line = await refused(handler.generate(request(adapter="tutor")))
    assert (code, line) == (StatusCode.NOT_FOUND, "no adapter 'tutor' is loaded; loaded are: none")


@pytest.mark.parametrize(
    ("adapter", "complaint"),
    [
        (Adapter(name="tutor"), "requires a name and a path"),
        (Adapter(path="/weights"), "requires a name and a path"),
        (Adapter(name="echo", path="/weights"), "'echo' is the name of the base model"),
    ],
    ids=["no path", "no name", "the base's name"],
)
async def test_an_adapter_must_have_a_name_of_its_own_and_a_path(adapter: Adapter, complaint: str) -> None:
    code, line = await refused(ModelHandler(Echo()).load_adapter(LoadAdapterRequest(adapter=adapter)))
    assert (code, complaint in line) == (StatusCode.INVALID_ARGUMENT, True)


@each_case
def test_every_refusal_has_a_code_and_keeps_its_line(error: str, code: str, http: int) -> None:
    told, line = error_status(getattr(errors, error, ModelRefused)("said"))
    assert (told.code, told.http, line) == (StatusCode[code], http, "said")


def test_what_breaks_in_the_service_is_logged_there_and_not_told(caplog: pytest.LogCaptureFixture) -> None:
    told, line = error_status(RuntimeError("a secret of the service"))
    assert (told.code, told.http) == (StatusCode.INTERNAL, 500)
    assert line == "internal error: see the log of the model service"
    assert "a secret of the service" in caplog.text


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
