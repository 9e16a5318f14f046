"""Serves an assignment, in a process of its own (`python -m soliloquy.runs.worker NAME`) or in `soliloquy service`.

A process of its own reads its assignment from standard input, and exits when that closes.
"""

import asyncio
import contextlib
import json
import logging
import os
import re
import signal
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict

import uvloop

from soliloquy.runs.assignment import Assignment
from soliloquy.runs.serving import Worker, transient_errors
from soliloquy.runs.supervision import READY, STATUS
from soliloquy.runtime import extensions
from soliloquy.runtime.failure import Broken, Failure, first_error
from soliloquy.runtime.logs import JSON, set_up
from soliloquy.runtime.model.status import EndpointStatus

LOOK_SECONDS = 0.1
REPORT_SECONDS = 0.5
# A start or a fault that is over sooner is not logged.
START_SECONDS = 30.0
LASTING_SECONDS = 5.0
# Added to the grace period for closing connections.
CLOSE_SECONDS = 1.0


async def work(
    assignment: Assignment,
    stopped: asyncio.Event,
    tell: Callable[[str], None],
    report: Callable[[Sequence[EndpointStatus]], None] | None = None,
    others: Sequence[str] = (),
) -> None:
    """Serves until it is stopped, and tells when it is ready and which faults keep it from serving; raises Failure.

    `report` receives how the endpoints of its models stand, whenever that changes. `others` holds the faults of other
    processes at any moment.
    """
    try:
        async with asyncio.TaskGroup() as group:
            worker = Worker(assignment, others)
            serving = group.create_task(worker.serve())
            watching = [group.create_task(_tell_changes(worker, tell))]
            if report:
                watching.append(group.create_task(_report_changes(worker, report)))
            await stopped.wait()
            # A Kafka client may wait for a broker for ever, even when it is cancelled.
            last = assignment.grace + 2 * CLOSE_SECONDS
            asyncio.get_running_loop().call_later(last, os._exit, Broken.exit_code)
            for each in watching:
                each.cancel()
            worker.stop()
            await asyncio.wait([serving], timeout=assignment.grace + CLOSE_SECONDS if worker.at_work else 0.0)
            serving.cancel()
    except ExceptionGroup as faults:
        error = first_error(faults)
        raise (Broken(str(error)) if isinstance(error, transient_errors()) else error) from faults


async def _tell_changes(worker: Worker, tell: Callable[[str], None]) -> None:
    """Tells one line when it serves, one for a fault that lasts, and one when it serves again."""
    last_told, tell_at = "", time.monotonic() + START_SECONDS
    while True:
        faults = worker.faults
        if not faults:
            tell_at = time.monotonic() + LASTING_SECONDS
            if last_told != READY:
                tell(", ".join([READY, *worker.addresses]))
                last_told = READY
        elif last_told in ("", READY) and time.monotonic() >= tell_at:
            tell(last_told := "; ".join(faults))
        await asyncio.sleep(LOOK_SECONDS)


async def _report_changes(worker: Worker, report: Callable[[Sequence[EndpointStatus]], None]) -> None:
    """Reports twice a second while a call waits, and once after the last."""
    reported: Sequence[EndpointStatus] = []
    while True:
        endpoints = worker.endpoints
        if endpoints != reported:
            report(endpoints)
            reported = endpoints
        await asyncio.sleep(REPORT_SECONDS)


async def _main() -> None:
    lifeline = asyncio.StreamReader(limit=2**20)
    loop = asyncio.get_running_loop()
    await loop.connect_read_pipe(lambda: asyncio.StreamReaderProtocol(lifeline), sys.stdin)
    if line := await lifeline.readline():
        stopped = asyncio.Event()
        loop.add_signal_handler(signal.SIGTERM, stopped.set)
        others: list[str] = []
        closed = asyncio.create_task(_hear(lifeline, others))
        closed.add_done_callback(lambda _: stopped.set())
        await work(Assignment.from_json(line), stopped, _tell, _report, others)
        closed.cancel()


async def _hear(lifeline: asyncio.StreamReader, others: list[str]) -> None:
    """Keeps the faults of other processes up to date, until the lifeline closes."""
    async for line in lifeline:
        others[:] = json.loads(line)


def _tell(line: str) -> None:
    # The supervisor may be gone; the lifeline ends this process then.
    with contextlib.suppress(BrokenPipeError):
        print(line, flush=True)


def _report(endpoints: Sequence[EndpointStatus]) -> None:
    _tell(STATUS + json.dumps([asdict(endpoint) for endpoint in endpoints]))


def main() -> int:
    # The terminal sends these to every process; the supervisor decides what follows.
    for number in (signal.SIGINT, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)
    # The supervisor relays the lines in its own format.
    set_up(re.sub(r"-\d+$", "", sys.argv[1]), JSON)
    # The command that starts the workers warns of packages once for all.
    logging.getLogger(extensions.__name__).setLevel(logging.ERROR)
    try:
        uvloop.run(_main())
    except Failure as failure:
        print(failure, file=sys.stderr)
        return failure.exit_code
    return 0


if __name__ == "__main__":
    sys.exit(main())
