"""One worker of a run on this machine: student, tutor, codegen, executor and composer in one process.

Its standard input is a lifeline: the plan comes in by it, and when it closes the worker ends.
"""

import asyncio
import os
import signal
import sys
from collections.abc import Sequence
from pathlib import Path

import uvloop

import services.codegen.app
import services.composer.app
import services.executor.app
import services.student.app
import services.tutor.app
from services.cli.plan import Plan
from services.cli.workers import HOPELESS
from services.codegen.settings import CodegenSettings
from services.composer.settings import ComposerSettings
from services.curriculum.problems import problem_source
from services.executor.gvisor.runsc import SandboxUnavailable
from services.executor.pool import SandboxPool
from services.executor.settings import SandboxSettings
from services.model.engines.noise import real_noise
from services.model.engines.scripted import ScriptedEngine
from services.runtime.handling import Service
from services.runtime.model import Model
from services.runtime.stage import Stage
from services.runtime.transports.embedded import EmbeddedTransport, LogUnavailable
from services.student.settings import StudentSettings
from services.tutor.settings import TutorSettings

GRACE_SECONDS = 3.0


def loop_services(model: Model, sandboxes: SandboxPool, sandbox_settings: SandboxSettings) -> Sequence[Service]:
    return [
        services.student.app.service(StudentSettings(), model),
        services.tutor.app.service(TutorSettings(), model),
        services.codegen.app.service(CodegenSettings(), model),
        services.executor.app.service(sandbox_settings, sandboxes),
        services.composer.app.service(ComposerSettings(), model),
    ]


def scripted_model(plan: Plan) -> Model:
    book = problem_source(plan.problems).book
    return ScriptedEngine(book, latency=plan.latency, noise=real_noise() if plan.noise == "real" else None)


async def work(plan: Plan, log: Path, lifeline: asyncio.StreamReader) -> None:
    settings = SandboxSettings(sandboxes=max(1, (os.cpu_count() or 1) // plan.workers))
    model = scripted_model(plan)
    sandboxes = SandboxPool(settings)
    await sandboxes.start()
    try:
        async with EmbeddedTransport(log) as transport:
            await _serve([Stage(service, transport) for service in loop_services(model, sandboxes, settings)], lifeline)
    finally:
        await sandboxes.stop()


async def _serve(stages: Sequence[Stage], lifeline: asyncio.StreamReader) -> None:
    """Until the lifeline closes or a SIGTERM comes; what runs then is finished first."""

    def stop() -> None:
        for stage in stages:
            stage.stop(GRACE_SECONDS)

    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, stop)
    async with asyncio.TaskGroup() as group:
        serving = [group.create_task(stage.run()) for stage in stages]
        print("ready", flush=True)
        closed = group.create_task(lifeline.read())
        closed.add_done_callback(lambda _: stop())
        await asyncio.wait(serving)
        closed.cancel()


async def _main(log: Path) -> None:
    lifeline = asyncio.StreamReader()
    loop = asyncio.get_running_loop()
    await loop.connect_read_pipe(lambda: asyncio.StreamReaderProtocol(lifeline), sys.stdin)
    plan = Plan.from_json(await lifeline.readline())
    await work(plan, log, lifeline)


def main() -> int:
    # An interrupt from the terminal reaches every process of the run; the first of them decides what follows.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    status = 0
    try:
        uvloop.run(_main(Path(sys.argv[1])))
    except* (SandboxUnavailable, LogUnavailable) as unavailable:
        print(unavailable.exceptions[0], file=sys.stderr)
        status = HOPELESS
    return status


if __name__ == "__main__":
    sys.exit(main())
