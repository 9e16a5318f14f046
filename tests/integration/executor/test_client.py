"""The client that users import: its results, and the failures that it survives."""

import asyncio
import math
import time
from collections.abc import AsyncIterator
from pathlib import Path

import grpc
import pytest

from soliloquy.client import Sandbox, ServiceUnavailable, Unserialisable
from soliloquy.v1.sandbox_pb2 import ExecuteRequest, Job
from soliloquy_services.executor.policy import SandboxSettings
from soliloquy_services.executor.pool import SandboxPool
from soliloquy_services.executor.server import SandboxServer
from tests.integration.executor.calling import ANY_PORT, client_of, connected, served
from tests.integration.executor.support import (
    ENDLESS,
    job,
    needs_runsc,
    started,
    until_in_a_sandbox,
)

pytestmark = [needs_runsc, pytest.mark.asyncio(loop_scope="session")]


async def test_values_come_back_as_the_python_objects_they_were(pool: SandboxPool) -> None:
    code = "import math\ni, n, z = 7 ** 6000, math.nan, 2 + 1j\nd = {(1, 'a'): [None, True]}\no = object()\nprint('hi')"
    async with client_of(pool) as client:
        done = await client.execute(code, ["i", "n", "z", "d", "o"])
    assert (done.status, done.stdout) == ("ok", "hi\n")
    assert math.isnan(done.values.pop("n"))
    assert done.values == {"i": 7**6000, "z": 2 + 1j, "d": {(1, "a"): [None, True]}, "o": Unserialisable("object")}
    assert done.isolation.startswith("gvisor-")


async def test_each_job_of_a_batch_gets_its_own_answer_as_soon_as_it_ends(pool: SandboxPool) -> None:
    slow = range(0, 200, 40)
    jobs = [
        Job(id=f"job-{n}", code=f"import time; time.sleep(.2); x = {n} ** 2" if n in slow else f"x = {n} ** 2")
        for n in range(200)
    ]
    for each in jobs:
        each.result_variables.append("x")
    async with client_of(pool) as client:
        done = [execution async for execution in client.execute_many(jobs)]
    assert [execution.job_id for execution in done] != [each.id for each in jobs]
    assert {execution.job_id: execution.values for execution in done} == {f"job-{n}": {"x": n**2} for n in range(200)}
    assert len(done) == 200


async def test_a_full_pool_pushes_back_and_the_client_comes_again(tmp_path: Path) -> None:
    async with (
        started(tmp_path, max_waiting=1, wall_seconds=1.0) as pool,
        served(pool) as address,
        connected(address) as stub,
        Sandbox(address) as client,
    ):
        running = asyncio.ensure_future(client.execute(ENDLESS))
        await until_in_a_sandbox(pool, "fast")
        waiting = [stub.Execute(ExecuteRequest(job=job("x = 1", "x"))) for _ in range(2)]
        done, _ = await asyncio.wait(map(asyncio.ensure_future, waiting), return_when=asyncio.FIRST_COMPLETED)
        [refused] = [call.exception() for call in done]
        assert isinstance(refused, grpc.aio.AioRpcError)
        assert refused.code() is grpc.StatusCode.RESOURCE_EXHAUSTED
        assert dict(refused.trailing_metadata())["grpc-retry-pushback-ms"] == "100"
        assert (await client.execute("x = 1", ["x"])).values == {"x": 1}
        assert (await running).status == "timeout"
        await asyncio.gather(*waiting, return_exceptions=True)


async def test_a_batch_survives_the_restart_of_its_service(pool: SandboxPool) -> None:
    server = SandboxServer(pool, SandboxSettings(wall_seconds=1.0))
    address = await server.start(ANY_PORT)
    jobs = (Job(id=str(n), code=f"x = {n}", result_variables=["x"]) for n in range(300))
    answers: list[tuple[str, int]] = []
    async with Sandbox(address) as client:
        unary = [asyncio.create_task(client.execute("x = 1", ["x"])) for _ in range(5)]
        async for execution in client.execute_many(jobs):
            answers.append((execution.job_id, execution.values["x"]))
            if len(answers) == 20:
                await server.stop(5.0)
                server = SandboxServer(pool, SandboxSettings(wall_seconds=1.0))
                await server.start(address)
        assert [(await call).values for call in unary] == [{"x": 1}] * 5
    await server.stop(5.0)
    assert sorted(answers, key=lambda answer: answer[1]) == [(str(n), n) for n in range(300)]


async def test_a_service_that_is_not_there_is_named_within_the_deadline() -> None:
    async with Sandbox("127.0.0.1:1", deadline_seconds=1.0) as client:
        with pytest.raises(ServiceUnavailable, match=r"127\.0\.0\.1:1: .*Connection refused.*\(UNAVAILABLE\)"):
            await client.execute("x = 1")
        with pytest.raises(ServiceUnavailable, match="Connection refused"):
            assert [execution async for execution in client.execute_many([job("x = 1")])] == []


async def test_a_batch_of_slow_jobs_is_given_up_once_none_has_ended_within_the_deadline(tmp_path: Path) -> None:
    async with (
        started(tmp_path, wall_seconds=60.0) as pool,
        served(pool, wall_seconds=60.0) as address,
        Sandbox(address, deadline_seconds=1.0) as client,
    ):
        with pytest.raises(ServiceUnavailable, match="none of 1 jobs ended"):
            assert [execution async for execution in client.execute_many([job(ENDLESS)])] == []


async def test_the_faults_of_a_callers_own_batch_reach_the_caller(pool: SandboxPool) -> None:
    async def failing() -> AsyncIterator[Job]:
        yield job("x = 1")
        raise LookupError("no further job")

    async with client_of(pool) as client:
        with pytest.raises(LookupError, match="no further job"):
            assert [execution.status async for execution in client.execute_many(failing())] == ["ok"]
        with pytest.raises(ValueError, match="two jobs of a batch have the id 'a-job'"):
            assert [execution.status async for execution in client.execute_many([job(ENDLESS)] * 2)] == []
        assert [execution async for execution in client.execute_many([])] == []


async def test_a_batch_that_is_left_half_way_leaves_the_pool_to_others(tmp_path: Path) -> None:
    async with started(tmp_path, wall_seconds=1.0) as pool, client_of(pool) as client:
        jobs = [Job(id="quick", code="x = 1"), *(Job(id=str(n), code=ENDLESS) for n in range(40))]
        async for _ in client.execute_many(jobs):
            break
        before = time.monotonic()
        assert (await client.execute("x = 1", ["x"])).values == {"x": 1}
        # Each of those that were read ahead would take a second.
        assert time.monotonic() - before < 20
