"""`soliloquy sandbox`: runs Python in gVisor, for one job or as a service."""

import asyncio
import json
import os
import signal
import time
from typing import BinaryIO

import click
import uvloop

from services.executor.gvisor.runsc import SandboxUnavailable
from services.executor.launcher import open_launcher
from services.executor.policy import KINDS
from services.executor.pool import SandboxPool
from services.executor.server import SandboxServer
from services.executor.settings import SandboxSettings
from services.executor.submission import LimitExceeded
from soliloquy.cli import outcome
from soliloquy.cli.addresses import ADDRESS
from soliloquy.cli.durations import DURATION
from soliloquy.cli.observing import observing
from soliloquy.cli.sizes import SIZE
from soliloquy.client import JobRefused, Sandbox, ServiceUnavailable
from soliloquy.runs.failure import Failure
from soliloquy.runtime.code import names
from soliloquy.runtime.listening import CannotListen
from soliloquy.runtime.traces.opening import CannotTrace, recorded
from soliloquy.runtime.traces.settings import TraceSettings
from soliloquy.v1.sandbox_pb2 import STATUS_OK, Execution, Job, Limits

JOB_FAILED = 1
# For a service to be reached and to have a sandbox free.
_ANSWER_SECONDS = 10.0
_DEFAULTS = SandboxSettings()


@click.group()
def sandbox() -> None:
    """Run Python in gVisor, for one job or as a service."""


def _names(_: click.Context, __: click.Parameter, listed: str) -> list[str]:
    wanted = names(listed)
    for name in wanted:
        if not name.isidentifier():
            raise click.BadParameter(f"{name!r} is not the name of a variable")
    return wanted


@sandbox.command()
@click.argument("file", metavar="FILE", type=click.File("rb"))
@click.option("--vars", "variables", default="", metavar="A,B", callback=_names, help="Variables to read afterwards.")
@click.option("--wall", type=DURATION, help="Wall time that it may take; at most, and by default, the service's own.")
@click.option("--memory", type=SIZE, help="Address space that it may have; likewise.")
@click.option("--single-use", is_flag=True, help="Boot a sandbox for it alone.")
@click.option("--address", metavar="HOST:PORT", type=ADDRESS, help="Send it to a service instead of running it here.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object and nothing else.")
@click.pass_context
def run(
    context: click.Context,
    /,
    *,
    file: BinaryIO,
    variables: list[str],
    wall: float | None,
    memory: int | None,
    single_use: bool,
    address: str | None,
    as_json: bool,
) -> None:
    """Run a file of Python inside gVisor.

    FILE may be - for standard input. The exit status is 0 if the job ended well, 1 if it did not, and 2 if it could not
    be run at all.
    """
    job = Job(
        id=file.name,
        code=_code(file),
        result_variables=variables,
        limits=Limits(wall_seconds=wall, memory_bytes=memory),
        single_use=single_use,
    )
    try:
        done = uvloop.run(_submit(job, address) if address else _run_here(job))
    except (SandboxUnavailable, LimitExceeded, ServiceUnavailable, JobRefused) as error:
        raise Failure(str(error)) from error
    click.echo(json.dumps(outcome.as_json(done)) if as_json else "\n".join(outcome.lines(done)))
    context.exit(0 if done.status == STATUS_OK else JOB_FAILED)


@sandbox.command()
def selftest() -> None:
    """Show that sandboxes work here, and how.

    One of each kind is booted, and must prove from inside that it is contained.
    """
    try:
        uvloop.run(_boot_each_kind())
    except SandboxUnavailable as error:
        raise Failure(str(error)) from error


@sandbox.command()
@click.option(
    "--listen",
    default="127.0.0.1:50051",
    show_default=True,
    metavar="HOST:PORT",
    type=ADDRESS,
    help="Port 0 takes any that is free.",
)
@click.option(
    "--sandboxes",
    default=os.cpu_count(),
    show_default=True,
    type=click.IntRange(min=1),
    help="Of each lane that most jobs take.",
)
@click.option(
    "--wall",
    default=_DEFAULTS.wall_seconds,
    show_default=f"{_DEFAULTS.wall_seconds:g}s",
    type=DURATION,
    help="The most that a job may ask for.",
)
@click.option(
    "--memory",
    default=_DEFAULTS.memory_bytes,
    show_default=f"{_DEFAULTS.memory_bytes // 1024**2}MiB",
    type=SIZE,
    help="The most that a job may ask for.",
)
@click.option("--grace", default="20s", show_default=True, type=DURATION, help="For jobs under way at the end.")
@observing("executor")
def serve(*, listen: str, sandboxes: int, wall: float, memory: int, grace: float, traces: TraceSettings) -> None:
    """Serve sandboxes over gRPC.

    Health checks and reflection come with it. An interrupt or a SIGTERM ends it, once the jobs under way are answered.

    There is neither encryption nor a password: whoever reaches the port can run code in the sandbox. Beyond this
    machine, put it behind what authenticates, such as a service mesh's mTLS.
    """
    settings = SandboxSettings(sandboxes=sandboxes, wall_seconds=wall, memory_bytes=memory)
    try:
        with recorded(traces):
            uvloop.run(_serve(listen, settings, grace))
    except (SandboxUnavailable, CannotListen, CannotTrace) as error:
        raise Failure(str(error)) from error


def _code(file: BinaryIO) -> str:
    try:
        return file.read().decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise Failure(f"{file.name} is not UTF-8 (byte {error.start}): save it as UTF-8") from error
    except OSError as error:
        raise Failure(f"{file.name} cannot be read: {error.strerror}") from error


async def _submit(job: Job, address: str) -> Execution:
    patience = _ANSWER_SECONDS + job.limits.wall_seconds
    async with Sandbox(address, deadline_seconds=patience) as client:
        return await client.submit(job)


async def _run_here(job: Job) -> Execution:
    pool = SandboxPool(SandboxSettings(sandboxes=1, spares=0, audit=job.single_use))
    await pool.start()
    try:
        return await pool.execute(job)
    finally:
        await pool.stop()


async def _boot_each_kind() -> None:
    site = await open_launcher(SandboxSettings())
    try:
        # Already up, so that it would not show how long one takes.
        await site.booted.pop().close()
        click.echo(f"runsc {site.runsc.version} on {site.platform} ({site.runsc.path})")
        click.echo(f"control groups: {'memory and pids' if site.cgroup else f'none ({site.unbounded})'}")
        for kind in KINDS:
            before = time.monotonic()
            sandbox = await site.boot(kind)
            click.echo(f"{kind}: up in {time.monotonic() - before:.2f} s, {len(sandbox.proofs)} proofs")
            await sandbox.close()
        click.echo("proved from inside: " + "; ".join(sandbox.proofs))
    finally:
        await asyncio.to_thread(site.close)


async def _serve(listen: str, settings: SandboxSettings, grace_seconds: float) -> None:
    stopped = asyncio.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        asyncio.get_running_loop().add_signal_handler(number, stopped.set)
    pool = SandboxPool(settings)
    server = SandboxServer(pool, settings)
    # Listening first: an address that is taken is known at once, and who asks meanwhile hears that it is too early.
    address = await server.start(listen)
    try:
        await pool.start()
        click.echo(f"serving on {address}")
        await stopped.wait()
    finally:
        await server.stop(grace_seconds)
        await pool.stop()
