"""Services as real processes over a real broker: ready or why not, drained at the end, kept alive by `up`."""

import asyncio
import contextlib
import signal
import urllib.error
import urllib.request
from pathlib import Path

import pytest

from soliloquy.client import Sandbox
from soliloquy.dataset.manifest import read_manifest, services_in
from soliloquy.dataset.storage import Storage
from soliloquy.problems.sources import problem_source
from soliloquy.runs.assignment import SERVICES
from soliloquy.runtime.events import first_event
from soliloquy.runtime.transports.kafka import KafkaSettings
from soliloquy.runtime.transports.kafka.layout import apply
from soliloquy.runtime.transports.kafka.transport import KafkaTransport
from soliloquy.v1.events_pb2 import ConversationStarted
from soliloquy.v1.runs_pb2 import Run
from soliloquy_services.curriculum.handler import attempt_at
from tests.chaos.kafka.installation import free_ports
from tests.e2e.runs import SOLILOQUY, alive, kill, said, worker_named, worker_pids
from tests.integration.transport.support import held, idle
from tests.kafka.cluster import KafkaCluster
from tests.kafka.commands import running
from tests.kafka.fixtures import started
from tests.waiting import PATIENCE_SECONDS, until

ANY_PORT = ("--http", "127.0.0.1:0")


async def probe(address: str, path: str = "/readyz") -> tuple[int, str]:
    def get() -> tuple[int, str]:
        try:
            with urllib.request.urlopen(f"http://{address}{path}", timeout=PATIENCE_SECONDS) as response:
                return response.status, response.read().decode()
        except urllib.error.HTTPError as error:
            with error:
                return error.code, error.read().decode()

    return await asyncio.to_thread(get)


@pytest.mark.thorough
async def test_a_service_without_its_broker_is_not_ready_says_why_and_can_be_ended(tmp_path: Path) -> None:
    grace = 1.0
    with started(KafkaCluster(tmp_path)) as cluster:
        settings = KafkaSettings(bootstrap=cluster.bootstrap)
        await apply(settings, replication=1)
        async with running("service", "student", "--grace", f"{grace}s", *ANY_PORT, kafka=settings) as student:
            address = await student.address("student")
            await asyncio.to_thread(cluster.stop_node, 1)

            async def is_ready() -> bool:
                assert (await probe(address, "/healthz"))[0] == 200
                return (await probe(address))[0] == 200

            async def is_not_ready() -> bool:
                return not await is_ready()

            await until(is_not_ready)
            status, why = await probe(address)
            assert (status, "no broker has answered student" in why) == (503, True), why
            await asyncio.to_thread(cluster.start_node, 1)
            await until(is_ready)
            await asyncio.to_thread(cluster.stop_node, 1)
            async with asyncio.timeout(60):
                await student.terminated()
        probed = f"127.0.0.1:{free_ports(1)[0]}"
        async with running("service", "student", "--http", probed, kafka=settings, wait="120s") as student:

            async def waits() -> bool:
                with contextlib.suppress(OSError):
                    return "student waits for Kafka: " in (await probe(probed))[1]
                return False

            await until(waits)
            assert (await probe(probed))[0] == 503
            assert (await probe(probed, "/healthz"))[0] == 200
            await asyncio.to_thread(cluster.start_node, 1)
            await student.address("student")
            assert await student.terminated() == (0, [])


@pytest.mark.thorough
async def test_a_terminated_service_finishes_and_commits_what_it_is_at(topics: KafkaSettings) -> None:
    run = Run(id="drained", recipe="soliloquy", in_flight=1, max_turns=2, max_attempts=1)
    conversation = attempt_at(problem_source("physics").problem(0, 0), run=run, ordinal=0, attempt=0)
    event = first_event(ConversationStarted(conversation=conversation), source="test", time=0.0)
    async with KafkaTransport(topics) as transport:
        async with running("service", "student", "--latency", "3s", *ANY_PORT, kafka=topics) as student:
            address = await student.address("student")
            await transport.publish([event])

            async def is_at_it() -> bool:
                return 'soliloquy_lanes_in_use{service="student"} 1.0' in (await probe(address, "/metrics"))[1]

            await until(is_at_it)
            student.process.terminate()

            async def is_stopping() -> bool:
                return await probe(address) == (503, "student is stopping\n")

            await until(is_stopping)
            assert await student.ended() == (0, [])
        [reply] = await held(transport, "student.replied")
        assert reply.event.key == conversation.id
        assert await idle(transport)


async def test_the_executor_takes_jobs_of_other_programs_beside_its_topic(topics: KafkaSettings) -> None:
    async with running("service", "executor", "--grpc", "127.0.0.1:0", *ANY_PORT, kafka=topics) as executor:
        ready = await executor.says("executor: ready, http on 127.0.0.1:")
        async with Sandbox(ready.rpartition("grpc on ")[2]) as client:
            execution = await client.execute("x = 1 + 1", ["x"])
        assert (execution.status, execution.values) == ("ok", {"x": 2})
        assert await executor.terminated() == (0, [])


def refused(*arguments: str | Path, kafka: KafkaSettings, wait: str = "0s") -> str:
    reach = ("--kafka", kafka.bootstrap, "--kafka-prefix", kafka.prefix)
    result = said([SOLILOQUY, *map(str, arguments), *reach], environment={"SOLILOQUY_KAFKA_WAIT": wait})
    [line] = result.stderr.splitlines()
    assert result.returncode == 2, line
    return line


def test_what_cannot_be_done_is_one_line_with_status_2(kafka: str, tmp_path: Path) -> None:
    nowhere = KafkaSettings(bootstrap="127.0.0.1:1", prefix="x")
    bare = KafkaSettings(bootstrap=kafka, prefix="bare-")
    for command, wait in (
        (("service", "student"), "0s"),
        (("service", "student"), "1s"),
        (("up", "--data", tmp_path), "0s"),
    ):
        assert "refuses connections" in refused(*command, kafka=nowhere, wait=wait)
        assert "soliloquy topics apply" in refused(*command, kafka=bare, wait=wait)
    assert "'loud' is not one of" in refused("service", "tutor", "--noise", "loud", kafka=bare)
    (tmp_path / "file").touch()
    assert "cannot be written" in refused("service", "collector", "--data", tmp_path / "file" / "inside", kafka=bare)


@pytest.mark.thorough
async def test_what_another_process_holds_is_said_so(topics: KafkaSettings, tmp_path: Path) -> None:
    async with running("service", "collector", "--data", tmp_path, *ANY_PORT, kafka=topics) as collector:
        address = await collector.address("collector")
        for command, complaint in (
            (("collector", "--data", tmp_path), "another process is writing"),
            (("tutor", "--http", address), f"cannot listen on {address}"),
        ):
            async with running("service", *command, kafka=topics) as second:
                status, [line] = await second.ended()
            assert (status, complaint in line) == (2, True), line


# The README on Kafka starts and ends all services, and `tests/unit/runs/test_supervision.py` replaces processes.
@pytest.mark.thorough
async def test_up_starts_every_service_ready_replaces_what_dies_or_is_outdated_and_leaves_no_process_when_it_is_killed(
    topics: KafkaSettings, tmp_path: Path
) -> None:
    ports = free_ports(len(SERVICES))
    options = ("--sandboxes", "1", "--http-from", str(ports.start))
    async with running("up", "--data", tmp_path, *options, kafka=topics) as supervisor:
        await supervisor.says(f"up: {len(SERVICES)} services ready in {len(SERVICES)} processes on {topics.bootstrap}")
        pid = supervisor.process.pid
        assert len(worker_pids(pid)) == len(SERVICES)
        before = {name: worker_named(pid, f"{name}-0") for name in SERVICES}
        for port in ports:
            assert await probe(f"127.0.0.1:{port}") == (200, "ok\n")
            assert await probe(f"127.0.0.1:{port}", "/healthz") == (200, "ok\n")
        told = "".join([(await probe(f"127.0.0.1:{port}", "/metrics"))[1] for port in ports])
        for name in SERVICES:
            assert f'soliloquy_lanes_in_use{{service="{name}"}} 0.0' in told
            assert f'soliloquy_service_ready{{service="{name}"}} 1.0' in told
        kill(before["executor"])
        await supervisor.says("up: executor-0 was killed by SIGKILL; restarting")
        supervisor.process.send_signal(signal.SIGHUP)
        # The others follow one by one.
        for name in SERVICES[:2]:
            await supervisor.says(f"up: {name}-0 replaced")
            assert worker_named(pid, f"{name}-0") != before[name]
        workers = worker_pids(pid)
        supervisor.process.kill()
        await until(lambda: not any(map(alive, workers)))


@pytest.mark.thorough
async def test_a_run_is_told_of_a_tutor_that_differs_and_its_manifest_lists_both(
    topics: KafkaSettings, tmp_path: Path
) -> None:
    async with running("up", "--data", tmp_path / "up", "--sandboxes", "1", kafka=topics) as supervisor:
        await supervisor.says(f"up: {len(SERVICES)} services ready in {len(SERVICES)} processes on {topics.bootstrap}")
        async with running("service", "tutor", "--noise", "real", *ANY_PORT, kafka=topics) as other:
            await other.address("tutor")
            wanted = ("--problems", "arithmetic", "--conversations", "24", "--in-flight", "12")
            async with running("generate", *wanted, "--out", tmp_path / "out", kafka=topics) as run:
                status, lines = await run.ended()
    assert status == 0, lines
    assert any("services differ from what this run was told (tutor: noise real, not none)" in line for line in lines)
    manifest = read_manifest(Storage(tmp_path / "out"))
    assert manifest
    rows = services_in(manifest)
    tutors = {row["settings"]["noise"]: row["conversations"] for row in rows if row["service"] == "tutor"}
    assert set(tutors) == {"none", "real"}
    assert {row["service"] for row in rows} == {*SERVICES} - {"planner", "collector"}
