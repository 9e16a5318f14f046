"""The worker processes of a run: started, watched, started again when they die."""

import asyncio
import contextlib
import signal
import sys
from asyncio.subprocess import PIPE, Process
from pathlib import Path

from services.cli.failure import Failure
from services.cli.plan import Plan

# A worker that ends with this status cannot do its work; starting it again would not help.
HOPELESS = 2
DEATHS_IN_A_ROW = 5
GRACE_SECONDS = 5.0


class Workers:
    """Each worker runs the five services of the loop. It ends by itself when this process does."""

    def __init__(self, plan: Plan, log: Path) -> None:
        self._plan = plan
        self._log = log
        self._processes: dict[int, Process] = {}
        self._stopping = False

    async def run(self) -> None:
        """Keeps every worker alive until `stop`."""
        async with asyncio.TaskGroup() as group:
            for number in range(self._plan.workers):
                group.create_task(self._keep(number))

    async def stop(self) -> None:
        """Lets the workers finish what they are at, within the grace period."""
        self._stopping = True
        for process in self._processes.values():
            with contextlib.suppress(ProcessLookupError):
                process.send_signal(signal.SIGTERM)
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(GRACE_SECONDS):
                for process in self._processes.values():
                    await process.wait()
        for process in self._processes.values():
            with contextlib.suppress(ProcessLookupError):
                process.kill()

    async def _keep(self, number: int) -> None:
        deaths = 0
        while not self._stopping:
            process = await asyncio.create_subprocess_exec(
                sys.executable, "-m", "services.cli.worker", str(self._log), stdin=PIPE, stdout=PIPE, stderr=PIPE
            )
            self._processes[number] = process
            if self._stopping:
                process.kill()
            took_events, last_words = await self._watch(process)
            deaths = 0 if took_events else deaths + 1
            if process.returncode == HOPELESS and not self._stopping:
                raise Failure(last_words)
            if deaths == DEATHS_IN_A_ROW:
                raise Failure(f"a worker died {deaths} times before it took an event; its last words: {last_words}")

    async def _watch(self, process: Process) -> tuple[bool, str]:
        """Waits for a worker's end: whether it had come to take events, and its last words."""
        assert process.stdin is not None
        assert process.stdout is not None
        assert process.stderr is not None
        with contextlib.suppress(ConnectionError):
            process.stdin.write(self._plan.to_json().encode() + b"\n")
            await process.stdin.drain()
        took_events = bool(await process.stdout.readline())
        error = (await process.stderr.read()).decode(errors="replace").strip()
        await process.wait()
        return took_events, error.splitlines()[-1] if error else f"exit status {process.returncode}"
