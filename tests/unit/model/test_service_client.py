"""Our own model service over gRPC, with the scripted engine behind it."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import grpc
import pytest

from soliloquy.runs.dry_run import require_room
from soliloquy.runs.plan import problems_of
from soliloquy.runtime.failure import Failure
from soliloquy.runtime.model import ModelRefused, faults
from soliloquy.runtime.model.checking import require_endpoints
from soliloquy.runtime.model.faults import EndpointRefuses, InvalidAnswer, Throttled, Unreachable
from soliloquy.runtime.model.model_service_client import (
    MOST_ANSWER_CHARACTERS,
    STREAMS_A_CHANNEL,
    ModelServiceClient,
    _streamed,
)
from soliloquy.runtime.model.settings import Endpoint, Models
from soliloquy.runtime.model.settings_file import shipped_models
from soliloquy.v1.model_pb2 import Adapter, Completion, Delta, GenerateRequest, ModelInfo
from soliloquy_services.model.backend import ScriptedBackend
from soliloquy_services.model.engines.scripted import ScriptedEngine
from soliloquy_services.model.in_process import serve_grpc
from tests.cases import each_case
from tests.unit.runs.test_plan import plan
from tests.unit.runtime.model.service import generating
from tests.unit.runtime.model.streams import KeptStreams
from tests.unit.scripted.driver import opening, played

Code = grpc.StatusCode
Context = grpc.aio.ServicerContext[GenerateRequest, Completion]


class Servicer:
    """Fails the first calls with given faults and answers the rest."""

    def __init__(self, *codes: Code, pushback: str = "") -> None:
        self._codes = list(codes)
        self._pushback = pushback
        self._engine = ScriptedEngine()
        self.requests: list[GenerateRequest] = []
        self.peers: set[str] = set()

    async def generate(self, request: GenerateRequest, context: Context) -> Completion:
        self.requests.append(request)
        self.peers.add(context.peer())
        if self._codes:
            if self._pushback:
                context.set_trailing_metadata((("grpc-retry-pushback-ms", self._pushback),))
            await context.abort(self._codes.pop(0), "as told")
        return await self._engine.generate(request)


@asynccontextmanager
async def line_to(servicer: Servicer, *, most: int = 256) -> AsyncIterator[ModelServiceClient]:
    server = grpc.aio.server()
    server.add_generic_rpc_handlers((generating(servicer.generate),))
    port = server.add_insecure_port("127.0.0.1:0")
    await server.start()
    line = ModelServiceClient("tuned", Endpoint(engine="ray", address=f"127.0.0.1:{port}", max_concurrency=most))
    try:
        yield line
    finally:
        await line.close()
        await server.stop(None)


@asynccontextmanager
async def proxy_that_answers(status: int) -> AsyncIterator[str]:
    """Answers a call over HTTP/2 with a status of HTTP alone, as a proxy does that reaches no server."""
    settings = bytes((0, 0, 0, 4, 0, 0, 0, 0, 0))
    # HPACK: a literal value of the header `:status`, which is number 8 of the static table.
    headers = bytes((8, 3)) + str(status).encode()
    end = bytes((0, 0, len(headers), 1, 5, 0, 0, 0, 1)) + headers

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(settings)
        await reader.readexactly(len(b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"))
        kind = 0
        while kind != 1:
            frame = await reader.readexactly(9)
            kind = frame[3]
            await reader.readexactly(int.from_bytes(frame[:3], "big"))
        writer.write(end)
        await reader.read()
        writer.close()

    server = await asyncio.start_server(answer, "127.0.0.1", 0)
    async with server:
        yield f"127.0.0.1:{server.sockets[0].getsockname()[1]}"


class Asking:
    def __init__(self, line: ModelServiceClient) -> None:
        self._line = line

    async def generate(self, request: GenerateRequest) -> Completion:
        return await self._line.ask(request, 5.0)


async def test_a_dialogue_over_the_wire_is_that_of_the_engine_itself() -> None:
    async with line_to(Servicer()) as line:
        over_the_wire = await played(Asking(line), seed=3)
    assert over_the_wire == await played(ScriptedEngine(), seed=3)


async def test_an_answer_that_somebody_hears_comes_in_pieces_and_counts_as_any_other() -> None:
    asked = opening()
    async with line_to(Servicer()) as line:
        whole = await line.ask(asked, 5.0)
        heard = KeptStreams()
        in_pieces = await line.ask(asked, 5.0, heard)
    [pieces] = heard.answers
    assert "".join(pieces) == whole.text
    assert in_pieces == whole


async def test_a_call_that_fails_fails_alike_whether_somebody_hears_it() -> None:
    async with line_to(Servicer(Code.RESOURCE_EXHAUSTED, pushback="1500")) as line:
        with pytest.raises(Throttled) as throttled:
            await line.ask(GenerateRequest(), 5.0, KeptStreams())
    assert throttled.value.after == 1.5


async def test_a_request_arrives_as_it_was() -> None:
    servicer = Servicer(Code.INTERNAL)
    request = GenerateRequest(role="tutor", prompt="p", seed=2**64 - 1, adapter="a", id="i")
    async with line_to(servicer) as line:
        with pytest.raises(InvalidAnswer):
            await line.ask(request, 5.0)
    assert servicer.requests == [request]


@each_case
async def test_each_code_is_what_it_means_for_the_call(code: str, raised: str) -> None:
    servicer = Servicer(grpc.StatusCode[code])
    async with line_to(servicer) as line:
        with pytest.raises(getattr(faults, raised, ModelRefused), match=f"{code}: as told"):
            await line.ask(GenerateRequest(), 5.0)
    assert len(servicer.requests) == 1


@pytest.mark.parametrize(("status", "raised"), [(500, Unreachable), (503, Unreachable), (404, EndpointRefuses)])
async def test_an_http_error_of_a_proxy_says_whether_another_try_may_reach_a_replica(
    status: int, raised: type[Exception]
) -> None:
    async with proxy_that_answers(status) as address:
        line = ModelServiceClient("tuned", Endpoint(engine="ray", address=address))
        with pytest.raises(raised):
            await line.ask(GenerateRequest(), 5.0)
        await line.close()


@pytest.mark.parametrize(("told", "seconds"), [("1500", 1.5), ("", 0.0), ("-1", 0.0)])
async def test_the_time_to_come_back_at_is_heard(told: str, seconds: float) -> None:
    async with line_to(Servicer(Code.RESOURCE_EXHAUSTED, pushback=told)) as line:
        with pytest.raises(Throttled) as throttled:
            await line.ask(GenerateRequest(), 5.0)
    assert throttled.value.after == seconds


async def test_where_nobody_listens_the_call_may_be_made_again() -> None:
    line = ModelServiceClient("tuned", Endpoint(engine="ray", address="127.0.0.1:1"))
    with pytest.raises(Unreachable):
        await line.ask(GenerateRequest(), 5.0)
    await line.close()


async def test_more_calls_than_a_connection_takes_have_several() -> None:
    servicer = Servicer()
    async with line_to(servicer, most=2 * STREAMS_A_CHANNEL + 1) as line:
        for _ in range(6):
            with pytest.raises(InvalidAnswer):
                await line.ask(GenerateRequest(prompt="unknown"), 5.0)
    assert len(servicer.peers) == 3


async def test_pieces_without_end_are_a_faulty_answer() -> None:
    async def deltas() -> AsyncIterator[Delta]:
        while True:
            yield Delta(text="x" * 10_000)

    heard: list[str] = []
    with pytest.raises(InvalidAnswer, match="longer than"):
        await _streamed(deltas(), heard.append)
    assert len("".join(heard)) <= MOST_ANSWER_CHARACTERS


class Served(ScriptedBackend):
    def __init__(self, served: ModelInfo) -> None:
        super().__init__(ScriptedEngine())
        self._served = served

    def info(self) -> ModelInfo:
        return self._served


async def test_the_weights_that_answer_are_told_by_their_digests() -> None:
    served = ModelInfo(digest="base", adapters=[Adapter(name="tutor", digest="first")])
    async with serve_grpc(Served(served)) as port:
        client = ModelServiceClient("tuned", Endpoint(engine="ray", address=f"127.0.0.1:{port}"))
        told = [await client.identity(""), await client.identity("tutor")]
        served.adapters[0].digest = "second"
        told.append(await client.identity("tutor"))
        served.digest = "other base"
        told += [await client.identity(""), await client.identity("tutor")]
        assert len({*told}) == len(told)
        assert await client.identity("unknown") == ""
    assert await client.identity("") == ""
    await client.close()


async def test_a_service_of_another_model_than_the_one_named_is_known_before_a_run() -> None:
    async with serve_grpc(Served(ModelInfo(model="small", context_tokens=2048))) as port:

        def models(name: str) -> Models:
            return shipped_models().only_at(Endpoint(engine="ray", address=f"127.0.0.1:{port}", model=name))

        with pytest.raises(Failure, match=r"model 'large'\) serves 'small'"):
            await require_endpoints(models("large"), None)
        await require_endpoints(models("small"), None)
        with pytest.raises(Failure, match=r"has a context of 2,048 tokens, but soliloquy/"):
            await require_room(plan(models("small")), problems_of("physics", "soliloquy"))
