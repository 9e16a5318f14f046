"""The sandbox service over gRPC: its promises to callers, whatever they or the sandboxes do."""

import asyncio
import logging
import time
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import grpc
import pytest
from grpc_health.v1 import health_pb2, health_pb2_grpc
from grpc_reflection.v1alpha.proto_reflection_descriptor_database import ProtoReflectionDescriptorDatabase

from soliloquy.client import JobRefused, Sandbox, ServiceUnavailable
from soliloquy.runtime.traces import spans
from soliloquy.runtime.traces.export import sending
from soliloquy.v1.sandbox_pb2 import (
    STATUS_TIMEOUT,
    ExecuteRequest,
    ExecuteResponse,
    Execution,
    Job,
    Limits,
)
from soliloquy.v1.sandbox_pb2_grpc import SandboxServiceStub
from soliloquy_services.executor.policy import SandboxSettings
from soliloquy_services.executor.pool import SandboxPool
from soliloquy_services.executor.server import READ_AHEAD, SERVICE, SandboxServer
from tests.integration.executor.calling import ANY_PORT, client_of, connected, served
from tests.integration.executor.support import (
    ENDLESS,
    Runsc,
    assert_ordinary_job_is_right,
    job,
    kill_all,
    needs_runsc,
    started,
    until_in_a_sandbox,
)
from tests.traces.collector import PATH, collecting
from tests.traces.trees import trace_of
from tests.waiting import until

pytestmark = [needs_runsc, pytest.mark.asyncio(loop_scope="session")]

_SERVING = health_pb2.HealthCheckResponse.SERVING
_NOT_SERVING = health_pb2.HealthCheckResponse.NOT_SERVING


async def refusal_of(call: grpc.aio.UnaryUnaryCall[ExecuteRequest, ExecuteResponse]) -> grpc.aio.AioRpcError:
    with pytest.raises(grpc.aio.AioRpcError) as raised:
        await call
    return raised.value


async def test_who_asks_for_more_than_there_is_is_told_the_limit(pool: SandboxPool) -> None:
    over = Job(id="over", code="x = 1", limits=Limits(wall_seconds=60))
    async with served(pool) as address, connected(address) as stub:
        refused = await refusal_of(stub.Execute(ExecuteRequest(job=over), timeout=60))
        assert refused.code() is grpc.StatusCode.INVALID_ARGUMENT
        async with Sandbox(address) as client:
            with pytest.raises(JobRefused, match=r"wall_seconds is 60.0: .* to 8.0"):
                await client.submit(over)
            within = [Job(id=name, code="x = 1") for name in ("before", "after")]
            done = {e.job_id: e async for e in client.execute_many([within[0], over, within[1]])}
    assert {name: execution.status for name, execution in done.items()} == {
        "before": "ok",
        "over": "refused",
        "after": "ok",
    }
    assert "wall_seconds is 60.0" in done["over"].error


async def test_a_request_without_a_job_is_refused_in_both_calls(pool: SandboxPool) -> None:
    async with served(pool) as address, connected(address) as stub:
        refused = await refusal_of(stub.Execute(ExecuteRequest()))
        assert refused.code() is grpc.StatusCode.INVALID_ARGUMENT
        assert refused.details() == "the request has no job: set its field 'job'"
        [answer] = [response async for response in stub.ExecuteStream(iter([ExecuteRequest()]))]
        assert answer.refusal == refused.details()


async def test_code_that_is_too_long_is_answered_and_a_request_beyond_all_measure_is_not_read(
    pool: SandboxPool,
) -> None:
    async with client_of(pool) as client:
        long = await client.execute("#" * 1_000_000)
        assert (long.status, long.error) == ("error", "1000000 bytes of code; a job may have 262144")
        with pytest.raises(JobRefused, match="larger than max"):
            await client.execute("#" * 5_000_000)
        assert (await client.execute("x = 1", ["x"])).values == {"x": 1}


async def test_bytes_that_are_no_call_end_their_connection_and_nothing_else(pool: SandboxPool) -> None:
    async with served(pool) as address, Sandbox(address) as client:
        host, _, port = address.rpartition(":")
        for garbage in (
            b"GET / HTTP/1.1\r\n\r\n",
            b"\0" * 65_536,
            b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + b"\xff" * 4_096,
        ):
            reader, writer = await asyncio.open_connection(host, int(port))
            writer.write(garbage)
            async with asyncio.timeout(120):
                try:
                    while await reader.read(65_536):
                        pass
                except ConnectionResetError:
                    pass
            writer.close()
        assert (await client.execute("x = 1", ["x"])).values == {"x": 1}


async def test_a_stream_waits_for_a_full_pool_instead_of_being_refused(tmp_path: Path) -> None:
    jobs = (Job(id=str(n), code="x = 1") for n in range(60))
    async with started(tmp_path, max_waiting=1, wall_seconds=1.0) as pool, client_of(pool) as client:
        done = [execution.status async for execution in client.execute_many(jobs)]
    assert done == ["ok"] * 60


async def test_a_stream_holds_back_a_caller_who_is_faster_than_the_sandboxes(tmp_path: Path) -> None:
    sent = 0

    async def requests() -> AsyncIterator[ExecuteRequest]:
        nonlocal sent
        for sent in range(1, 2_001):
            yield ExecuteRequest(job=Job(id=str(sent), code=f"{ENDLESS}\n#{'-' * 60_000}"))

    async with started(tmp_path, wall_seconds=1.0) as pool, served(pool) as address, connected(address) as stub:
        answers = stub.ExecuteStream(requests())
        assert isinstance(await answers.read(), ExecuteResponse)
        # Beyond what is read ahead, HTTP/2 has some megabytes on the way, and more of them the slower the machine is.
        assert READ_AHEAD <= sent <= 1_000
        answers.cancel()


async def test_a_job_runs_no_longer_than_its_caller_waits(tmp_path: Path) -> None:
    async with (
        started(tmp_path, wall_seconds=100.0) as pool,
        served(pool, wall_seconds=100.0) as address,
        connected(address) as stub,
    ):
        [ended] = await asyncio.gather(
            stub.Execute(ExecuteRequest(job=job(ENDLESS)), timeout=0.5), return_exceptions=True
        )
        # Whichever is first on a busy machine: the end of the caller's time, or that of the job's.
        if isinstance(ended, ExecuteResponse):
            assert ended.execution.status == STATUS_TIMEOUT
        else:
            assert isinstance(ended, grpc.aio.AioRpcError)
            assert ended.code() is grpc.StatusCode.DEADLINE_EXCEEDED
        async with asyncio.timeout(60):
            await assert_ordinary_job_is_right(pool)


async def test_the_waiting_job_of_a_caller_that_has_gone_is_not_started(tmp_path: Path) -> None:
    async with started(tmp_path, wall_seconds=1.0) as pool, served(pool) as address, connected(address) as stub:
        running = asyncio.ensure_future(stub.Execute(ExecuteRequest(job=job(ENDLESS))))
        await until_in_a_sandbox(pool, "fast")
        before = time.monotonic()
        leaving = [stub.Execute(ExecuteRequest(job=job(ENDLESS))) for _ in range(30)]
        await asyncio.wait(map(asyncio.ensure_future, leaving), timeout=0.2)
        for call in leaving:
            call.cancel()
        await assert_ordinary_job_is_right(pool)
        # Each that was started would take a second.
        assert time.monotonic() - before < 20
        await running


async def test_health_follows_the_sandboxes(tmp_path: Path, runsc: Runsc) -> None:
    async with (
        started(tmp_path) as pool,
        served(pool) as address,
        Sandbox(address) as client,
        grpc.aio.insecure_channel(address) as channel,
    ):
        health: Any = health_pb2_grpc.HealthStub(channel)
        watching = health.Watch(health_pb2.HealthCheckRequest(service=SERVICE))
        assert (await watching.read()).status == _SERVING
        runsc.break_down()
        kill_all(tmp_path)
        assert (await watching.read()).status == _NOT_SERVING
        assert (await health.Check(health_pb2.HealthCheckRequest())).status == _NOT_SERVING
        refused = await refusal_of(SandboxServiceStub(channel).Execute(ExecuteRequest(job=job("x = 1"))))
        assert refused.code() is grpc.StatusCode.UNAVAILABLE
        assert "out of order" in (refused.details() or "")
        waiting = asyncio.ensure_future(client.execute("x = 1", ["x"]))
        runsc.repair()
        assert (await watching.read()).status == _SERVING
        assert (await waiting).values == {"x": 1}
        watching.cancel()


async def test_reflection_tells_the_contract(pool: SandboxPool) -> None:
    def contract(address: str) -> tuple[list[str], list[str]]:
        with grpc.insecure_channel(address) as channel:
            described = ProtoReflectionDescriptorDatabase(channel)
            file = described.FindFileContainingSymbol(SERVICE)
            return list(described.get_services()), [method.name for method in file.service[0].method]

    async with served(pool) as address:
        services, methods = await asyncio.to_thread(contract, address)
    assert {SERVICE, "grpc.health.v1.Health"} <= set(services)
    assert methods == ["Execute", "ExecuteStream"]


async def test_a_stop_answers_what_runs_and_turns_away_what_comes(tmp_path: Path) -> None:
    async with started(tmp_path, wall_seconds=1.0) as pool:
        server = SandboxServer(pool, SandboxSettings(wall_seconds=1.0))
        address = await server.start(ANY_PORT)
        async with connected(address) as stub, grpc.aio.insecure_channel(address) as channel:
            health: Any = health_pb2_grpc.HealthStub(channel)
            watching = health.Watch(health_pb2.HealthCheckRequest())
            assert (await watching.read()).status == _SERVING
            running = asyncio.ensure_future(stub.Execute(ExecuteRequest(job=job(ENDLESS))))
            await until_in_a_sandbox(pool, "fast")
            stopping = asyncio.create_task(server.stop(10.0))
            assert (await watching.read()).status == _NOT_SERVING
            refused = await refusal_of(stub.Execute(ExecuteRequest(job=job("x = 1"))))
            assert refused.code() is grpc.StatusCode.UNAVAILABLE
            assert refused.details() == "the sandbox service is shutting down"
            assert (await running).execution.error == "no end within the time limit"
            async with asyncio.timeout(120):
                await stopping


async def test_a_stop_waits_no_longer_than_its_grace_period(tmp_path: Path) -> None:
    async with started(tmp_path, wall_seconds=60.0) as pool:
        server = SandboxServer(pool, SandboxSettings(wall_seconds=60.0))
        async with Sandbox(await server.start(ANY_PORT), deadline_seconds=1.0) as client:
            running = asyncio.create_task(client.execute(ENDLESS))
            await until_in_a_sandbox(pool, "fast")
            async with asyncio.timeout(120):
                await server.stop(0.1)
            with pytest.raises(ServiceUnavailable):
                await running


async def test_what_breaks_in_the_service_is_logged_there_and_not_told(
    pool: SandboxPool, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    async def broken(_: Job) -> Execution:
        raise RuntimeError("a secret of the service")

    monkeypatch.setattr(pool, "execute", broken)
    async with served(pool) as address, connected(address) as stub:
        refused = await refusal_of(stub.Execute(ExecuteRequest(job=job("x = 1"))))
    assert refused.code() is grpc.StatusCode.INTERNAL
    assert refused.details() == "internal error: see the log of the sandbox service"
    [record] = [record for record in caplog.records if record.levelno == logging.ERROR]
    assert record.exc_info is not None
    assert "secret" in str(record.exc_info[1])


async def test_a_job_of_a_traced_caller_is_in_its_trace_down_to_the_lane(pool: SandboxPool) -> None:
    caller = f"00-{trace_of('c1')}-00f067aa0ba902b7-01"
    with collecting() as collector, sending(collector.url + PATH):
        async with client_of(pool) as client:
            with spans.continue_trace("elsewhere", "a calculation", "client", caller):
                await client.execute("x = 1 + 1", ["x"])
                batch = [Job(id=name, code="x = 1") for name in ("first", "second")]
                assert len([done async for done in client.execute_many(batch)]) == 2
            await client.execute("x = 1 + 1", ["x"])
        await until(lambda: len(collector.spans) == 7)
    [calling] = [span for span in collector.spans if span.service == "elsewhere"]
    calls = [span for span in collector.spans if span.name == "sandbox service"]
    jobs = [span for span in collector.spans if span.name == "sandbox job"]
    assert {span.trace for span in collector.spans} == {trace_of("c1")}
    assert {span.parent for span in calls} == {calling.id}
    assert {span.parent for span in jobs} == {span.id for span in calls}
    assert {span.attributes["soliloquy.lane"] for span in jobs} == {"fast"}
    assert {span.attributes["soliloquy.job"] for span in jobs} == {"", "first", "second"}
