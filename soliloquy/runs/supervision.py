"""Supervises processes: starts them, restarts those that exit, and replaces them one at a time, as `up` does."""

import asyncio
import contextlib
import json
import logging
import platform
import signal
from asyncio import StreamReader
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

from soliloquy.dataset.layout import WORKING
from soliloquy.runs.assignment import LOOP, SERVICES, Assignment, GatewayAssignment
from soliloquy.runs.keeper import Keeper, KeptProcess
from soliloquy.runtime.failure import Failure
from soliloquy.runtime.logs import relay
from soliloquy.runtime.model.status import EndpointStatus, merged
from soliloquy.runtime.topics import shapes
from soliloquy.runtime.transports.kafka import KafkaSettings

# The exit status of a process that a restart would not help.
HOPELESS = 2
# A process prints a line that starts with this word when it serves; a line of neither kind is a fault.
READY = "ready"
# A line that starts so holds the status of the endpoints that it asks, as JSON.
STATUS = "status "
DEATHS_IN_A_ROW = 5
# The pause before the second restart in a row; it doubles with each further one.
PAUSE_SECONDS = 0.5
PAUSE_CAP_SECONDS = 30.0
# Added to the grace period of a process before it is killed: on a busy machine it needs some to close.
LEAVE_SECONDS = 10.0
# The longest line of a log.
MOST_BYTES = 65_536

_log = logging.getLogger(__name__)


@dataclass(frozen=True, kw_only=True, slots=True)
class ProcessSpec:
    """Names what a process runs, and the assignment that it reads as the first line of its standard input."""

    name: str
    # Returns the exit status.
    main: Callable[[], int]
    assignment: bytes
    # Seconds that it has to exit after SIGTERM.
    grace: float
    # Whether it hears of the faults of the others, as lines of JSON.
    hears: bool = False


class SupervisedProcess:
    """Restarts its child when it exits. A child exits when its standard input closes, so none outlives this process."""

    def __init__(self, spec: ProcessSpec, changed: Callable[[], None], *, lasting: bool) -> None:
        """Calls `changed` when it begins or ceases to serve. A lasting one that has served is never given up.

        Make it before this process has threads, which would keep its children from starting as copies of it.
        """
        self._spec = spec
        self._changed = changed
        self._lasting = lasting
        self._may_serve_again = False
        self._keeper = Keeper(spec.name, spec.main)
        self._process: KeptProcess | None = None
        self._served = False
        self._replacing = False
        self._stopping = asyncio.Event()
        # Why the process does not serve, in its own words; empty while it serves.
        self.fault = ""
        self.endpoints: Sequence[EndpointStatus] = ()
        # Set while the process serves.
        self.ready = asyncio.Event()

    async def run(self) -> None:
        """Restarts the process until `stop`; raises Failure if restarts do not help."""
        deaths = 0
        while not self._stopping.is_set():
            process, last_words = await self._live()
            self._may_serve_again = self._lasting and (self._served or self._may_serve_again)
            deaths = 0 if self._served else deaths + 1
            if self._stopping.is_set() or self._replacing:
                self._replacing = False
                deaths = 0
                continue
            status = process.returncode or 0
            reason = f"was killed by {signal.Signals(-status).name}" if status < 0 else f"exited with status {status}"
            death = f"{self._spec.name} {reason}{f': {last_words}' if last_words else ''}"
            if process.returncode == HOPELESS and not self._may_serve_again:
                raise Failure(last_words or death)
            if deaths == DEATHS_IN_A_ROW and not self._may_serve_again:
                raise Failure(f"{death}; it exited {deaths} times before it could serve")
            if deaths:
                self.fault = death
                self._changed()
            pause = min(PAUSE_CAP_SECONDS, PAUSE_SECONDS * 2 ** (deaths - 2)) if deaths > 1 else 0.0
            _log.warning("%s; restarting%s", death, f" in {pause:g} s" if pause else "")
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(pause):
                    await self._stopping.wait()

    async def stop(self) -> None:
        """Stops the process; unfinished work has the grace period to finish."""
        self._stopping.set()
        await self._end()

    def close(self) -> None:
        self._keeper.close()

    async def replace(self) -> None:
        """Stops the process, and returns when its successor serves."""
        if self._process and self._process.returncode is None:
            self._replacing = True
            self.ready.clear()
            await self._end()
        await self.ready.wait()

    def hear(self, faults: Sequence[str]) -> None:
        if self._spec.hears and self._process and self._process.stdin and self.ready.is_set():
            with contextlib.suppress(ConnectionError, RuntimeError):
                self._process.stdin.write(json.dumps(faults).encode() + b"\n")

    async def _live(self) -> tuple[KeptProcess, str]:
        """Runs one process to its end; returns it and the last line of its standard error."""
        self._served = False
        self._process = process = await self._keeper.start()
        try:
            if self._stopping.is_set():
                process.kill(signal.SIGKILL)
            # A process killed at its start has closed the pipe.
            with contextlib.suppress(ConnectionError, RuntimeError):
                process.stdin.write(self._spec.assignment + b"\n")
                await process.stdin.drain()
            _, last_words = await asyncio.gather(self._listen(process.stdout), _last_words(process.stderr))
            await self._keeper.end_of(process)
        finally:
            process.close()
        self.ready.clear()
        self.endpoints = ()
        return process, last_words

    async def _listen(self, output: StreamReader) -> None:
        faulty = False
        async for line in output:
            text = line.decode(errors="replace").strip()
            if text.startswith(STATUS):
                self.endpoints = [EndpointStatus(**each) for each in json.loads(text.removeprefix(STATUS))]
            elif text.split(",")[0] != READY:
                faulty = True
                self.fault = text
                self.ready.clear()
                self._changed()
                _log.warning("%s: %s", self._spec.name, text)
            else:
                if faulty:
                    _log.info("%s serves again", self._spec.name)
                faulty = False
                self.fault = ""
                self.ready.set()
                self._served = True
                self._changed()

    async def _end(self) -> None:
        process = self._process
        if process is None or process.returncode is not None:
            return
        process.kill(signal.SIGTERM)
        try:
            async with asyncio.timeout(self._spec.grace + LEAVE_SECONDS):
                await process.ended.wait()
        except TimeoutError:
            _log.warning("%s did not end within %g s: killed", self._spec.name, self._spec.grace)
            process.kill(signal.SIGKILL)


class Supervisor:
    def __init__(self, specs: Sequence[ProcessSpec], *, lasting: bool = False) -> None:
        """Restarts lasting processes for ever once they have served: a fault of one is no reason to end the others."""
        self._processes = {spec.name: SupervisedProcess(spec, self._tell_faults, lasting=lasting) for spec in specs}

    @property
    def count(self) -> int:
        return len(self._processes)

    @property
    def fault(self) -> str:
        """Why one of the processes does not serve; empty while all do."""
        return next((process.fault for process in self._processes.values() if process.fault), "")

    def _tell_faults(self) -> None:
        for name, process in self._processes.items():
            process.hear([other.fault for each, other in self._processes.items() if each != name and other.fault])

    @property
    def endpoints(self) -> Sequence[EndpointStatus]:
        """Returns the status of each endpoint over all processes."""
        return merged(endpoint for process in self._processes.values() for endpoint in process.endpoints)

    async def run(self) -> None:
        """Keeps every process running until `stop`."""
        try:
            async with asyncio.TaskGroup() as group:
                for process in self._processes.values():
                    group.create_task(self._run(process))
        except ExceptionGroup as faults:
            raise faults.exceptions[0] from faults

    async def _run(self, process: SupervisedProcess) -> None:
        try:
            await process.run()
        except Failure:
            # The group would leave them to themselves, and nobody would know of their end.
            await self.stop()
            raise

    async def stop(self) -> None:
        await asyncio.gather(*(process.stop() for process in self._processes.values()))

    def close(self) -> None:
        """Nothing starts afterwards."""
        for process in self._processes.values():
            process.close()

    async def ready(self) -> None:
        """Returns when all processes serve."""
        for process in self._processes.values():
            await process.ready.wait()

    async def replace_each(self) -> None:
        """Replaces one process at a time, so that the others serve meanwhile."""
        for name, process in self._processes.items():
            await process.replace()
            _log.info("%s replaced", name)


async def _last_words(output: StreamReader) -> str:
    """Relays log lines; returns the last line that is not a log line."""
    last, rest = b"", b""
    while chunk := await output.read(MOST_BYTES):
        *lines, rest = (rest[-MOST_BYTES:] + chunk).split(b"\n")
        for line in lines:
            last = last if relay(line) else line.strip() or last
    return (rest.strip() or last).decode(errors="replace")


# In the folder of the datasets, where `soliloquy dlq` looks for it too.
LOG = f"{WORKING}/log.sqlite"
DATABASE = f"{WORKING}/gateway.sqlite"
PROBLEMS = f"{WORKING}/problems"

_log = logging.getLogger(__name__)


def processes(scales: Mapping[str, int], *, on_kafka: bool, gateway: bool) -> dict[str, Sequence[str]]:
    """Returns the services of each process by its name, in the order of the metrics ports; the gateway has none."""
    if on_kafka:
        divided = {f"{name}-{number}": [name] for name, scale in scales.items() for number in range(scale)}
    else:
        # Two processes suffice: what waits for the disk holds up nothing that waits for a model or a sandbox.
        divided = {"loop": ["planner", *LOOP], "collector": ["curriculum", "collector"]}
    return {**divided, **({"gateway": []} if gateway else {})}


def assignments(
    divided: Mapping[str, Sequence[str]], common: Assignment, gateway: GatewayAssignment | None
) -> dict[str, Assignment]:
    """Returns the assignment of each process; `common` holds the settings that all of them share."""
    made = {name: replace(common, services=services) for name, services in divided.items()}
    if isinstance(kafka := common.transport, KafkaSettings):
        # The instance identifies a member of a consumer group on any machine.
        for name, one in made.items():
            instance = f"{platform.node()}-{name.rpartition('-')[2]}"
            made[name] = replace(one, transport=replace(kafka, instance=instance))
    if gateway:
        # The first executor runs the programs of chats.
        first = next(name for name, services in divided.items() if "executor" in services)
        made[first] = replace(made[first], grpc=gateway.sandbox)
        made["gateway"] = replace(common, gateway=gateway)
    return made


async def keep_up(supervisor: Supervisor, kafka: KafkaSettings | None, where: str) -> None:
    """Restarts processes that exit, until SIGINT or SIGTERM; replaces them one at a time on SIGHUP."""
    if kafka:
        # It loads Kafka's client.
        from soliloquy.runtime.transports.kafka.layout import check

        await check(kafka, [shape.topic for shape in shapes()])
    stopped, hung_up = asyncio.Event(), asyncio.Event()
    loop = asyncio.get_running_loop()
    for number, event in ((signal.SIGINT, stopped), (signal.SIGTERM, stopped), (signal.SIGHUP, hung_up)):
        loop.add_signal_handler(number, event.set)
    try:
        async with asyncio.TaskGroup() as group:
            supervising = group.create_task(supervisor.run())
            replacing = group.create_task(_replace_on(hung_up, supervisor, where))
            await stopped.wait()
            replacing.cancel()
            await supervisor.stop()
            await supervising
    finally:
        await supervisor.stop()


async def _replace_on(hung_up: asyncio.Event, supervisor: Supervisor, where: str) -> None:
    await supervisor.ready()
    _log.info("%d services ready in %d processes %s", len(SERVICES), supervisor.count, where)
    while True:
        await hung_up.wait()
        hung_up.clear()
        await supervisor.replace_each()
        _log.info("%d processes replaced", supervisor.count)
