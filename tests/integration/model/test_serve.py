"""The model service on Ray Serve: two replicas that answer as one, whatever happens to either.

One service for all tests, in their order: a cluster takes its time to come up.
"""

import asyncio
import json
import os
import signal
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path

import grpc
import pytest
from grpc_reflection.v1alpha.proto_reflection_descriptor_database import ProtoReflectionDescriptorDatabase

from benchmarks.model_load import caller, channel
from benchmarks.processes import stats
from soliloquy.v1.model_pb2 import (
    Adapter,
    Completion,
    GenerateRequest,
    InfoRequest,
    ListAdaptersRequest,
    LoadAdapterRequest,
    UnloadAdapterRequest,
)
from soliloquy.v1.model_pb2_grpc import ModelServiceStub
from tests.chaos.kafka.installation import free_ports
from tests.e2e.runs import SOLILOQUY
from tests.integration.model.server import STICK, TAKE
from tests.integration.model.serving import Load, Service, request
from tests.waiting import PATIENCE_SECONDS, until

# In CI a missing Ray is a failure, not a reason to skip.
pytestmark = [
    pytest.mark.skipif(
        find_spec("ray") is None and os.environ.get("CI") != "true",
        reason="Ray Serve is missing: pip install 'soliloquy-tutor[serve]'",
    ),
]


@pytest.fixture(scope="module")
def service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Service]:
    service = Service(weights(tmp_path_factory.mktemp("adapters"), "first"))
    try:
        addresses = f"127.0.0.1:{service.grpc} (gRPC) and http://127.0.0.1:{service.http}/v1 (HTTP)"
        assert service.line() == f"serving on {addresses}"
        # A proxy is told of each replica a moment later.
        asyncio.run(answers_of_both(service))
        yield service
    finally:
        service.end()


def weights(folder: Path, name: str) -> Path:
    path = folder / name
    path.mkdir()
    (path / "adapter_model.safetensors").write_text(name)
    return path


async def refusal(service: Service, asked: GenerateRequest) -> tuple[grpc.StatusCode, str]:
    async with service.client() as stub:
        with pytest.raises(grpc.aio.AioRpcError) as raised:
            await stub.Generate(asked, timeout=PATIENCE_SECONDS)
        return raised.value.code(), raised.value.details() or ""


async def answers_of_both(service: Service, adapter: str = "") -> list[Completion]:
    """Asks until both replicas have answered."""
    async with service.client() as stub, asyncio.timeout(120):
        while True:
            asked = (stub.Generate(request(f"{TAKE}0.2", adapter=adapter), timeout=PATIENCE_SECONDS) for _ in range(12))
            answers = await asyncio.gather(*asked)
            if len({answer.model for answer in answers}) == 2:
                return answers


def load(service: Service, *, conversations: bool = False) -> Load:
    """Callers, each of which may be one conversation."""

    def make(number: int, answered: int) -> GenerateRequest:
        text = f"caller {number} answer {answered}"
        return request(text, conversation=f"{number}" if conversations else "")

    return Load(port=service.grpc, make=make)


def assert_answered(load: Load) -> None:
    assert load.failures == []
    assert all(answer.text == asked.messages[0].text for _, asked, answer in load.answers)


async def digests(service: Service, adapter: str) -> set[str]:
    """Returns the weights of the adapter that the two replicas answer by."""
    return {answer.adapter_digest for answer in await answers_of_both(service, adapter)}


async def test_grpc_answers_whole_and_in_pieces(service: Service) -> None:
    async with service.client() as stub:
        answer = await stub.Generate(request(), timeout=PATIENCE_SECONDS)
        deltas = [delta async for delta in stub.GenerateStream(request(), timeout=PATIENCE_SECONDS)]
        info = await stub.Info(InfoRequest(), timeout=PATIENCE_SECONDS)
    assert (answer.text, answer.engine) == ("two words", "echo")
    assert [delta.text for delta in deltas] == ["two ", "words"]
    assert deltas[-1].completion.text == answer.text
    assert (info.engine, [adapter.name for adapter in info.adapters]) == ("echo", ["first"])


async def test_the_calls_of_a_conversation_keep_to_one_replica_and_many_conversations_to_all(service: Service) -> None:
    async with channel(service.grpc) as opened:
        ask = caller(opened)
        seen = [
            {(await ask(request(f"call {number}", conversation=f"{one}"))).model for number in range(4)}
            for one in range(16)
        ]
    assert [len(replicas) for replicas in seen] == [1] * 16
    assert len(set.union(*seen)) == 2


async def test_a_conversation_goes_elsewhere_while_its_replica_has_more_than_its_share(service: Service) -> None:
    async with channel(service.grpc) as opened:
        ask = caller(opened)
        answers = await asyncio.gather(*(ask(request(f"{TAKE}1", conversation="one")) for _ in range(8)))
    assert len({answer.model for answer in answers}) == 2


async def test_reflection_tells_the_contract(service: Service) -> None:
    def methods() -> list[str]:
        with grpc.insecure_channel(f"127.0.0.1:{service.grpc}") as channel:
            file = ProtoReflectionDescriptorDatabase(channel).FindFileContainingSymbol("soliloquy.v1.ModelService")
            return [method.name for method in file.service[0].method]

    assert "Generate" in await asyncio.to_thread(methods)


async def test_http_answers_beside_it(service: Service) -> None:
    asked = {"model": "echo", "messages": [{"role": "user", "content": "two words"}]}
    status, text = await service.get("POST", "/v1/chat/completions", asked)
    assert (status, json.loads(text)["choices"][0]["message"]["content"]) == (200, "two words")
    status, text = await service.get("POST", "/v1/chat/completions", asked | {"stream": True})
    assert (status, text.endswith("data: [DONE]\n\n")) == (200, True)
    assert await service.get("GET", "/-/healthz") == (200, "success")
    assert (await service.get("GET", "/metrics/"))[0] == 200


async def test_a_refusal_keeps_its_code_and_its_line_on_the_way(service: Service) -> None:
    line = "no adapter 'unknown' is loaded; loaded are: first"
    assert await refusal(service, request(adapter="unknown")) == (grpc.StatusCode.NOT_FOUND, line)
    code, line = await refusal(service, request(request_id="x" * 300))
    assert (code, line) == (grpc.StatusCode.INVALID_ARGUMENT, "the id has 300 characters, above the limit of 256")
    status, text = await service.get("POST", "/v1/chat/completions", {"model": "gpt", "messages": [{"role": "user"}]})
    assert (status, json.loads(text)["error"]["type"]) == (400, "invalid_request_error")


async def test_more_than_may_wait_is_turned_away_and_the_rest_is_answered(service: Service) -> None:
    async with service.client() as stub:
        asked = (stub.Generate(request(f"{TAKE}0.5"), timeout=20) for _ in range(80))
        answers = await asyncio.gather(*asked, return_exceptions=True)
    refused = [answer for answer in answers if isinstance(answer, grpc.aio.AioRpcError)]
    assert {error.code() for error in refused} == {grpc.StatusCode.RESOURCE_EXHAUSTED}
    # Each replica has eight at work and eight that wait; the second may just have come.
    assert len(answers) - len(refused) >= 16


async def test_an_adapter_is_on_both_replicas_when_loading_it_returns(service: Service, tmp_path: Path) -> None:
    path = weights(tmp_path, "tutor")
    async with service.client() as stub:
        asked = LoadAdapterRequest(adapter=Adapter(name="tutor", path=str(path)))
        loaded = (await stub.LoadAdapter(asked, timeout=20)).adapter
        assert await digests(service, "tutor") == {loaded.digest}
        (path / "adapter_model.safetensors").write_text("tuned further")
        again = (await stub.LoadAdapter(asked, timeout=20)).adapter
        assert again.digest != loaded.digest
        assert await digests(service, "tutor") == {again.digest}
        await stub.UnloadAdapter(UnloadAdapterRequest(name="tutor"), timeout=20)
        listed = await stub.ListAdapters(ListAdaptersRequest(), timeout=PATIENCE_SECONDS)
    assert [adapter.name for adapter in listed.adapters] == ["first"]
    assert (await refusal(service, request(adapter="tutor")))[0] is grpc.StatusCode.NOT_FOUND


async def test_weights_that_are_missing_are_loaded_nowhere(service: Service, tmp_path: Path) -> None:
    async with service.client() as stub:
        with pytest.raises(grpc.aio.AioRpcError, match=r"missing adapter_model\.safetensors") as raised:
            await stub.LoadAdapter(LoadAdapterRequest(adapter=Adapter(name="tutor", path=str(tmp_path))), timeout=20)
    assert raised.value.code() is grpc.StatusCode.FAILED_PRECONDITION


@pytest.mark.thorough
async def test_a_killed_replica_costs_no_answer_and_its_successor_has_the_adapters(
    service: Service, tmp_path: Path
) -> None:
    async with service.client() as stub:
        asked = LoadAdapterRequest(adapter=Adapter(name="tutor", path=str(weights(tmp_path, "tutor"))))
        loaded = (await stub.LoadAdapter(asked, timeout=20)).adapter
    before = service.replicas()
    assert len(before) == 2
    async with load(service) as calling:
        await calling.more()
        os.kill(min(before), signal.SIGKILL)
        await calling.more()
        await until(lambda: len(service.replicas() - before) == 1)
        await calling.more()
    assert_answered(calling)
    assert await digests(service, "tutor") == {loaded.digest}


async def test_conversations_of_a_killed_replica_go_on_at_another_and_none_of_their_calls_is_lost(
    service: Service,
) -> None:
    before = service.replicas()
    async with load(service, conversations=True) as calling:
        await calling.more()
        os.kill(min(before), signal.SIGKILL)
        await calling.more()
        await until(lambda: len(service.replicas() - before) == 1)
        await calling.more()
    assert_answered(calling)


@pytest.mark.thorough
async def test_replacing_the_replicas_costs_no_answer(service: Service) -> None:
    before = service.replicas()
    async with load(service) as calling:
        await calling.more()
        service.tell(signal.SIGHUP)
        assert await asyncio.to_thread(service.line) == "replicas replaced"
        await calling.more()
    assert_answered(calling)
    await until(lambda: not before & service.replicas())


@pytest.mark.thorough
async def test_a_replica_whose_engine_is_stuck_is_replaced(service: Service) -> None:
    before = service.replicas()
    async with service.client() as stub, load(service) as calling:
        stuck = asyncio.ensure_future(stub.Generate(request(STICK), timeout=60))
        await until(lambda: service.replicas() - before)
        await until(lambda: len(before - service.replicas()) == 1)
        with pytest.raises(grpc.aio.AioRpcError):
            await stuck
        await calling.more()
    assert_answered(calling)


async def test_the_end_answers_what_is_under_way_and_leaves_nothing_behind(service: Service) -> None:
    processes = service.processes()
    async with service.client() as stub:
        running = [asyncio.ensure_future(stub.Generate(request(f"{TAKE}2"), timeout=20)) for _ in range(4)]
        assert (await stub.Generate(request(), timeout=PATIENCE_SECONDS)).text == "two words"
        service.tell(signal.SIGTERM)
        assert {answer.text for answer in await asyncio.gather(*running)} == {f"{TAKE}2"}
    assert await asyncio.to_thread(service.process.wait, 30) == 0
    # Ray's own processes end a moment after their parent.
    await until(lambda: not processes & set(stats()))
    # Ray tells of the replicas that were killed.
    assert [line for line in service.complaints if not line.startswith("(raylet) A worker died")] == []


@pytest.mark.thorough
async def test_without_replicas_the_first_call_starts_one() -> None:
    addresses = [f"127.0.0.1:{port}" for port in free_ports(2)]
    command = [SOLILOQUY, "model", "serve", "--engine", "scripted", "--replicas", "0"]
    command += ["--max-replicas", "1", "--grpc", addresses[0], "--http", addresses[1]]
    process = await asyncio.create_subprocess_exec(*command, stdout=asyncio.subprocess.PIPE)
    try:
        assert process.stdout
        assert (await process.stdout.readline()).startswith(b"serving on ")
        async with grpc.aio.insecure_channel(addresses[0]) as opened:
            answer = await ModelServiceStub(opened).Info(InfoRequest(), timeout=120)
        assert answer.engine == "scripted"
    finally:
        process.send_signal(signal.SIGTERM)
        await process.wait()
