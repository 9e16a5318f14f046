"""`python -m benchmarks gateway`."""

import asyncio
import contextlib
import json
import tempfile
import time
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import aiohttp
import click
import grpc
import uvloop
from rich.console import RenderableType

from benchmarks import machine, processes
from benchmarks.command import AS_JSON, Tell, rounds_option, show, spread, status_line, table
from benchmarks.figures import judged, merged, quantile
from benchmarks.gateway_memory import UNDER_WAY, fill, page_seconds
from soliloquy.cli.options import free_address
from soliloquy.runs.assignment import Assignment, GatewayAssignment
from soliloquy.runs.supervision import Supervisor
from soliloquy.runs.worker import worker_spec
from soliloquy.runtime.events import Event, first_event, run_key
from soliloquy.runtime.seeds import digest
from soliloquy.runtime.topics import TOPIC_OF
from soliloquy.runtime.transports.embedded import EmbeddedTransport
from soliloquy.v1.conversation_pb2 import Conversation, Ending, Summary, TokenUse
from soliloquy.v1.events_pb2 import ConversationCollected, ProblemSubmitted
from soliloquy.v1.gateway_pb2 import RunStatus, StartRunRequest, WatchRunRequest
from soliloquy.v1.gateway_pb2_grpc import RunServiceStub
from soliloquy.v1.runs_pb2 import Run, RunRequest
from soliloquy_services.gateway.settings import GatewaySettings

# Yields how many conversations a watcher has been told of.
Watch = AsyncGenerator[int, None]

RATE = 200
WATCHERS = 200
# Conversations published together, as by a busy collector.
BATCH = 10

_TARGETS = Path(__file__).with_suffix(".toml")


@click.command()
@click.option(
    "--seconds", default=10.0, show_default=True, type=click.FloatRange(min=1), help="Time for each kind of watcher."
)
@click.option(
    "--conversations",
    default=100_000,
    show_default=True,
    type=click.IntRange(min=1),
    help="Conversations in the database when the gateway restarts.",
)
@click.option("--database", metavar="URL", help="As of `soliloquy service gateway`.  [default: a file]")
@rounds_option(1)
@AS_JSON
def gateway(*, seconds: float, conversations: int, database: str | None, rounds: int, as_json: bool) -> None:
    """Measure the gateway under 200 conversations a second.

    Reports how long one watcher waits for each of them, what 200 watchers cost, how long a restart takes, and how long
    pages take beside 200 watchers.
    """
    with status_line() as tell:
        figures = measure(seconds=seconds, conversations=conversations, database=database, rounds=rounds, tell=tell)
    show(figures, tables, as_json=as_json)


def measure(*, seconds: float, conversations: int, database: str | None, rounds: int, tell: Tell) -> dict[str, Any]:
    facts = machine.facts()
    measured = [_round(seconds, conversations, database, tell) for _ in range(rounds)]
    figures = {"machine": facts, "rounds": rounds, **merged(measured)}
    return figures | {"targets": judged(figures, _TARGETS)}


def _round(seconds: float, conversations: int, database: str | None, tell: Tell) -> dict[str, Any]:
    with tempfile.TemporaryDirectory(prefix="soliloquy-bench-") as folder, contextlib.ExitStack() as stack:
        log, url = Path(folder) / "log.sqlite", database or f"sqlite:///{folder}/gateway.sqlite"
        before, after = (stack.enter_context(contextlib.closing(_Gateway(log, url))) for _ in range(2))

        async def measured() -> dict[str, Any]:
            async with EmbeddedTransport(log) as transport:
                bench = _GatewayBenchmark(transport)
                found: dict[str, Any] = await _watched_by_many(bench, before, seconds, tell)
                tell(f"{conversations} conversations")
                await asyncio.to_thread(fill, url, bench.run_id, bench.number, conversations)
                return found | await _restarted(bench, after, tell)

        return uvloop.run(measured())


async def _watched_by_many(
    bench: "_GatewayBenchmark", gateway: "_Gateway", seconds: float, tell: Tell
) -> dict[str, Any]:
    found = {}
    async with gateway.serving() as pid:
        await bench.start(gateway.assignment)
        for name, watch, number in (
            ("one", _over_grpc, 1),
            ("grpc", _over_grpc, WATCHERS),
            ("http", _over_http, WATCHERS),
        ):
            tell(f"{number} watching over {'HTTP' if name == 'http' else 'gRPC'}")
            found[name] = await bench.watched(gateway.assignment, watch, number, seconds, pid)
    return found


async def _restarted(bench: "_GatewayBenchmark", gateway: "_Gateway", tell: Tell) -> dict[str, Any]:
    submitted = asyncio.create_task(bench.submission())
    began = time.perf_counter()
    async with gateway.serving() as pid:
        serving = time.perf_counter() - began
        driving = await submitted - began
        restart = {"serving": serving, "driving": driving, "mib": _resident(pid)}
        tell(f"pages beside {WATCHERS} watchers")
        async with bench.watchers(gateway.assignment):
            pages = await page_seconds(gateway.assignment.settings.listen, bench.run_id)
    return {"restart": restart, "pages": pages}


class _GatewayBenchmark:
    def __init__(self, transport: EmbeddedTransport) -> None:
        self._transport = transport
        self._run = Run()
        self.number = 0

    @property
    def run_id(self) -> str:
        return run_key(self._run)

    async def start(self, assignment: GatewayAssignment) -> None:
        """Starts a run that never ends."""
        request = RunRequest(recipe="soliloquy", problems="arithmetic", conversations=1_000_000)
        async with grpc.aio.insecure_channel(assignment.settings.grpc) as channel:
            status = await RunServiceStub(channel).StartRun(StartRunRequest(request=request, request_id="bench"))
        run, _, growing = status.id.partition("-")
        self._run = Run(id=run, growing=growing, recipe="soliloquy", max_attempts=10)

    async def watched(
        self,
        assignment: GatewayAssignment,
        watch: Callable[[GatewayAssignment, str], Watch],
        number: int,
        seconds: float,
        pid: int,
    ) -> dict[str, float]:
        """Publishes conversations on time, and measures how long the watchers wait and what they cost."""
        published: dict[int, float] = {}
        lags: list[float] = []
        last = self.number + int(RATE * seconds)
        told = [watch(assignment, self.run_id) for _ in range(number)]
        watchers = [asyncio.create_task(_waited(counts, published, lags, last)) for counts in told]
        # A watcher is told the current state first.
        await asyncio.sleep(1.0)
        cpu, began = _cpu(pid), time.perf_counter()
        while self.number < last:
            await self._publish(BATCH)
            published.update({self.number - place: time.perf_counter() for place in range(BATCH)})
            await asyncio.sleep(max(0.0, began + (self.number - last + RATE * seconds) / RATE - time.perf_counter()))
        took = time.perf_counter() - began
        cores = (_cpu(pid) - cpu) / took
        await asyncio.gather(*watchers)
        return {"p50_ms": quantile(lags, 0.5) * 1_000, "p99_ms": quantile(lags, 0.99) * 1_000, "cores": cores}

    @asynccontextmanager
    async def watchers(self, assignment: GatewayAssignment) -> AsyncIterator[None]:
        """Watches, while conversations go on to finish."""
        watching = [asyncio.create_task(_watched(_over_grpc(assignment, self.run_id))) for _ in range(WATCHERS)]
        watching.append(asyncio.create_task(self._go_on()))
        yield
        for task in watching:
            task.cancel()
        await asyncio.wait(watching)

    async def _go_on(self) -> None:
        self.number += UNDER_WAY
        while True:
            await self._publish(BATCH)
            await asyncio.sleep(BATCH / RATE)

    async def submission(self) -> float:
        """Returns when the gateway submits the next problem."""
        topic = TOPIC_OF[ProblemSubmitted].name
        async with contextlib.aclosing(self._transport.follow(topic, await self._transport.ends(topic))) as submitted:
            await anext(submitted)
            return time.perf_counter()

    async def _publish(self, number: int) -> None:
        await self._transport.publish([self._event(self.number + place) for place in range(number)])
        self.number += number

    def _event(self, ordinal: int) -> Event:
        summary = Summary(
            topic="fractions",
            question="A baker cuts a loaf into twelve slices and sells three quarters of them before noon." * 2,
            turns=6,
            python_turns=3,
            tokens={role: TokenUse(prompt=2_000, completion=150) for role in ("tutor", "student", "composer")},
        )
        conversation = Conversation(
            id=digest("bench", ordinal), run=self._run, ordinal=ordinal, ending=Ending.ENDING_SOLVED
        )
        collected = ConversationCollected(conversation=conversation, accepted=True, summary=summary)
        return first_event(collected, source="bench", time=time.time())


async def _waited(watch: Watch, published: dict[int, float], lags: list[float], last: int) -> None:
    """Adds the time from the publication of each conversation until the watcher is told of it."""
    before = 0
    async with contextlib.aclosing(watch) as counts:
        async for count in counts:
            now = time.perf_counter()
            lags += [now - published[number] for number in range(before + 1, count + 1) if number in published]
            before = count
            if count >= last:
                return


async def _watched(watch: Watch) -> None:
    async with contextlib.aclosing(watch) as counts:
        async for _ in counts:
            pass


async def _over_grpc(assignment: GatewayAssignment, run: str) -> Watch:
    async with grpc.aio.insecure_channel(assignment.settings.grpc) as channel:
        status: RunStatus
        async for status in RunServiceStub(channel).WatchRun(WatchRunRequest(run=run)):
            yield status.progress.accepted


async def _over_http(assignment: GatewayAssignment, run: str) -> Watch:
    url = f"http://{assignment.settings.listen}/v1/runs/{run}/watch"
    async with aiohttp.ClientSession(timeout=aiohttp.ClientTimeout()) as session, session.get(url) as answer:
        async for line in answer.content:
            if line.startswith(b"data: "):
                yield int(json.loads(line[6:])["progress"]["accepted"])


class _Gateway:
    """A gateway in a process of its own, which can be made only outside of a loop."""

    def __init__(self, log: Path, database: str) -> None:
        settings = GatewaySettings(listen=free_address(), grpc=free_address(), database=database)
        self.assignment = GatewayAssignment(settings=settings)
        self._name = f"bench-{time.monotonic_ns() % 10**9}"
        assigned = Assignment(services=(), transport=log, gateway=self.assignment, grace=5.0)
        self._supervisor = Supervisor([worker_spec(self._name, assigned)])

    @asynccontextmanager
    async def serving(self) -> AsyncIterator[int]:
        """Yields the id of its process while it serves."""
        async with asyncio.TaskGroup() as group:
            keeping = group.create_task(self._supervisor.run())
            await self._supervisor.ready()
            yield _pid(self._name)
            await self._supervisor.stop()
            await keeping

    def close(self) -> None:
        self._supervisor.close()


def _pid(name: str) -> int:
    return next(pid for pid in processes.stats() if Path(f"/proc/{pid}/comm").read_text("utf-8") == f"{name}\n")


def _cpu(pid: int) -> float:
    return processes.cpu_seconds(processes.stats()[pid])


def _resident(pid: int) -> float:
    return processes.resident_mib(processes.stats()[pid])


def tables(figures: dict[str, Any]) -> Iterator[RenderableType]:
    watching = table(f"{RATE} conversations/s", "p50 ms", "p99 ms", "cores")
    names = {"one": "1 watcher", "grpc": f"{WATCHERS} over gRPC", "http": f"{WATCHERS} over HTTP"}
    for name, title in names.items():
        watching.add_row(title, *(spread(figures[name][figure]) for figure in ("p50_ms", "p99_ms", "cores")))
    yield watching
    restart = figures["restart"]
    serving, driving, mib = (spread(restart[figure]) for figure in ("serving", "driving", "mib"))
    yield f"Serves {serving} s after a restart, drives after {driving} s, {mib} MiB resident"
    pages = table(f"pages beside {WATCHERS} watchers", "p99 ms")
    for name, milliseconds in figures["pages"].items():
        pages.add_row(name, spread(milliseconds))
    yield pages
