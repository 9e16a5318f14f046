"""Access over gRPC."""

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import grpc
import pytest
import pytest_asyncio
from google.protobuf.message_factory import GetMessageClass
from grpc_health.v1 import health_pb2, health_pb2_grpc
from grpc_reflection.v1alpha import reflection_pb2, reflection_pb2_grpc

from soliloquy.runtime.validated_file import CHECK_SECONDS
from soliloquy.v1.gateway_pb2 import (
    GetRunRequest,
    ListRunsRequest,
    TailConversationsRequest,
    WatchRunRequest,
)
from soliloquy.v1.gateway_pb2_grpc import RunServiceStub
from soliloquy_services.gateway.access.access import REQUESTS
from soliloquy_services.gateway.access.rates import RateLimit
from soliloquy_services.gateway.access.tokens import ROLE_OF
from soliloquy_services.gateway.grpc_server import SERVICE
from tests.integration.gateway.site import OPERATOR, READER, Site, guarded, site
from tests.unit.gateway.tokens import entry, written
from tests.waiting import until

STATUS = grpc.StatusCode


pytestmark = pytest.mark.asyncio(loop_scope="module")


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def at(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Site]:
    folder = tmp_path_factory.mktemp("gateway")
    async with site(folder, admitting=guarded(folder)) as opened:
        yield opened


def bearing(token: str) -> tuple[tuple[str, str], ...]:
    return (("authorization", f"Bearer {token}"),)


async def status_of(at: Site, name: str, *metadata: tuple[str, str]) -> grpc.StatusCode:
    """Returns the status of a call with an empty request."""
    method = SERVICE.methods_by_name[name]
    async with grpc.aio.insecure_channel(at.grpc) as channel:
        call = getattr(RunServiceStub(channel), name)(GetMessageClass(method.input_type)(), metadata=metadata)
        try:
            await (anext(aiter(call)) if method.server_streaming else call)
        except grpc.aio.AioRpcError as error:
            return error.code()
    return STATUS.OK


@pytest.mark.parametrize("name", [method.name for method in SERVICE.methods])
async def test_roles_are_the_same_as_over_http(at: Site, name: str) -> None:
    assert await status_of(at, name) == STATUS.UNAUTHENTICATED
    assert await status_of(at, name, *bearing("guess")) == STATUS.UNAUTHENTICATED
    refused = await status_of(at, name, *bearing(READER)) == STATUS.PERMISSION_DENIED
    assert refused == (ROLE_OF[name] == "operator")


async def test_a_probe_needs_no_token_and_who_looks_at_the_contract_does(at: Site) -> None:
    request = reflection_pb2.ServerReflectionRequest(list_services="")
    async with grpc.aio.insecure_channel(at.grpc) as channel:
        health: Any = health_pb2_grpc.HealthStub(channel)
        assert (await health.Check(health_pb2.HealthCheckRequest())).status == health_pb2.HealthCheckResponse.SERVING
        reflection: Any = reflection_pb2_grpc.ServerReflectionStub(channel)  # type: ignore[arg-type]
        # A client that is still sending when it is refused sees an internal error.
        assert await reflection.ServerReflectionInfo().code() == STATUS.UNAUTHENTICATED
        seen = await anext(aiter(reflection.ServerReflectionInfo(iter([request]), metadata=bearing(READER))))
    assert "soliloquy.v1.RunService" in [service.name for service in seen.list_services_response.service]


async def test_whoever_asks_too_often_is_told_when_to_come_back(tmp_path: Path) -> None:
    admitting = guarded(tmp_path, calls=RateLimit(burst=1, per_second=0.5))
    async with site(tmp_path, admitting=admitting) as at, grpc.aio.insecure_channel(at.grpc) as channel:
        stub: Any = RunServiceStub(channel)
        await stub.ListRuns(ListRunsRequest(), metadata=bearing(READER))
        with pytest.raises(grpc.aio.AioRpcError) as refused:
            await stub.ListRuns(ListRunsRequest(), metadata=bearing(READER))
    assert refused.value.code() == STATUS.RESOURCE_EXHAUSTED
    trailing = dict(refused.value.trailing_metadata())
    assert 0 < int(trailing["grpc-retry-pushback-ms"]) <= 2_000


async def test_a_request_of_megabytes_is_refused_unread(at: Site) -> None:
    async with grpc.aio.insecure_channel(at.grpc) as channel:
        stub: Any = RunServiceStub(channel)
        with pytest.raises(grpc.aio.AioRpcError) as refused:
            await stub.GetRun(GetRunRequest(run="x" * 10_000_000), metadata=bearing(READER))
    assert refused.value.code() == STATUS.RESOURCE_EXHAUSTED


async def test_a_stream_whose_token_is_taken_away_ends_and_shows_no_more(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("soliloquy_services.gateway.grpc_server.RECHECK_SECONDS", CHECK_SECONDS / 10)
    async with site(tmp_path, admitting=guarded(tmp_path)) as at, grpc.aio.insecure_channel(at.grpc) as channel:
        stub: Any = RunServiceStub(channel)
        # No conversation finishes, so that nothing comes to the follower.
        at.collecting.open.clear()
        run = await at.start(conversations=50)
        following = stub.TailConversations(TailConversationsRequest(run=run), metadata=bearing(READER))
        await until(lambda: at.gateway._tails.readers == 1)
        watching = aiter(stub.WatchRun(WatchRunRequest(run=run), metadata=bearing(READER)))
        await anext(watching)
        written(tmp_path, entry("olga", "operator", OPERATOR))
        await _refused(following)
        await until(lambda: at.gateway._tails.readers == 0)
        at.collecting.open.set()
        await _refused(watching)


@pytest.mark.parametrize("name", ["GetRun", "WatchRun"])
async def test_what_cannot_be_decoded_is_refused_for_its_caller_first(
    at: Site, caplog: pytest.LogCaptureFixture, name: str
) -> None:
    async def answered(*metadata: tuple[str, str]) -> tuple[grpc.StatusCode, str]:
        async with grpc.aio.insecure_channel(at.grpc) as channel:
            call: Any = channel.unary_unary(f"/{SERVICE.full_name}/{name}")
            with pytest.raises(grpc.aio.AioRpcError) as refused:
                await call(b"\xff\xff", metadata=metadata)
            return refused.value.code(), refused.value.details() or ""

    before = REQUESTS.labels(name, "unauthenticated")._value.get()
    assert (await answered())[0] == STATUS.UNAUTHENTICATED
    assert REQUESTS.labels(name, "unauthenticated")._value.get() == before + 1
    code, details = await answered(*bearing(READER))
    assert (code, "cannot be decoded" in details) == (STATUS.INVALID_ARGUMENT, True)
    assert not [record for record in caplog.records if record.levelname == "ERROR"]


async def _refused(stream: AsyncIterator[Any]) -> None:
    with pytest.raises(grpc.aio.AioRpcError) as refused:
        await asyncio.wait_for(_to_its_end(stream), 120)
    assert refused.value.code() == STATUS.UNAUTHENTICATED


async def _to_its_end(stream: AsyncIterator[Any]) -> None:
    async for _ in stream:
        pass
