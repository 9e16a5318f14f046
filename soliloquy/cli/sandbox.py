import asyncio
import re
import time
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any, BinaryIO

import click
import uvloop

from soliloquy.cli.command import Group, setting
from soliloquy.cli.observing import observing
from soliloquy.cli.options import ADDRESS, AS_JSON, DURATION, SIZE, duration_text, size_text
from soliloquy.cli.service_options import GRACE, SERVER_TLS, TLS_HELP, client_tls, sandbox_options
from soliloquy.cli.terminal import answer, echo, stop_signals
from soliloquy.client import Sandbox
from soliloquy.runtime.code import names
from soliloquy.runtime.failure import Failure
from soliloquy.runtime.tls import ServerTls
from soliloquy.runtime.traces.opening import TraceSettings, recorded_traces
from soliloquy.runtime.values import lane_name, plain, shown, status_name
from soliloquy.v1.sandbox_pb2 import STATUS_OK, Execution, Job, Limits

if TYPE_CHECKING:
    from soliloquy_services.executor.policy import SandboxSettings

# Time to reach a service and to wait for a free sandbox.
_ANSWER_SECONDS = 10.0
_OPTION = {"wall_seconds": "--wall", "memory_bytes": "--memory"}


@click.group(cls=Group)
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
def run(
    *,
    variables: list[str] = setting(
        "Variables to print afterwards.", "--vars", default="", metavar="A,B", callback=_names
    ),
    wall: float | None = setting("Wall time limit.  [default: 2s, the maximum]", type=DURATION),
    memory: int | None = setting("Address space limit.  [default: 512MiB, the maximum]", type=SIZE),
    address: str | None = setting(f"Send the job to this sandbox service; {TLS_HELP}", type=ADDRESS),
    as_json: bool = AS_JSON,
    file: BinaryIO,
) -> int:
    """Run a file of Python inside gVisor.

    FILE may be - for standard input. The exit status is 0 if the job succeeded, 1 if it failed, and 2 if it could not
    be run.
    """

    job = Job(
        id=file.name,
        code=_code(file),
        result_variables=variables,
        limits=Limits(wall_seconds=wall, memory_bytes=memory),
    )
    try:
        done = uvloop.run(_submit(job, address)) if address else run_here([job])[0]
    except Failure as error:
        raise Failure(_in_options(str(error))) from error
    answer(outcome_json(done), outcome_lines(done), as_json=as_json)
    return 0 if done.status == STATUS_OK else 1


@sandbox.command()
def selftest() -> None:
    """Check that sandboxes work on this machine.

    Boots a sandbox of each kind, which must prove from inside that it is contained.
    """

    uvloop.run(_boot_each_kind())


@sandbox.command()
def serve(
    *,
    listen: str = setting("Port 0 picks a free port.", default="127.0.0.1:50051", type=ADDRESS),
    grace: float = GRACE,
    tls: ServerTls | None = SERVER_TLS,
    sandbox: "SandboxSettings" = sandbox_options(),
    traces: TraceSettings = observing("executor"),
) -> None:
    """Serve sandboxes over gRPC, with health checks and reflection.

    Ctrl-C or SIGTERM stops the service after the running jobs are answered.

    Anyone who can reach the port can run code in the sandbox, unless --client-ca requires a certificate of callers.
    """

    with recorded_traces(traces):
        uvloop.run(_serve(listen, tls, sandbox, grace))


def _in_options(message: str) -> str:
    """Names the option in place of the field of a job that a limit is about, with numbers as the option takes them."""
    match = re.match(r"(wall_seconds|memory_bytes) is ([^:]+): use a value from (\S+) to ([^,]+)", message)
    if match is None:
        return message
    shown = size_text if match[1] == "memory_bytes" else duration_text
    given, least, most = (shown(float(number)) for number in match.group(2, 3, 4))
    return f"{_OPTION[match[1]]} {given} is out of range: use {least} to {most}"


def _code(file: BinaryIO) -> str:
    try:
        return file.read().decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise Failure(f"{file.name} is not UTF-8 (byte {error.start}): save it as UTF-8") from error
    except OSError as error:
        raise Failure(f"{file.name} cannot be read: {error.strerror}") from error


async def _submit(job: Job, address: str) -> Execution:
    patience = _ANSWER_SECONDS + job.limits.wall_seconds
    async with Sandbox(address, tls=client_tls(), deadline_seconds=patience) as client:
        return await client.submit(job)


def run_here(jobs: Sequence[Job]) -> list[Execution]:
    """Runs jobs in sandboxes of this machine; raises Failure if it has none."""
    from soliloquy_services.executor.policy import SandboxSettings
    from soliloquy_services.executor.pool import SandboxPool

    async def run_all() -> list[Execution]:
        settings = SandboxSettings(sandboxes=min(len(jobs), 2), max_waiting=len(jobs))
        async with SandboxPool(settings) as pool:
            return await asyncio.gather(*map(pool.execute, jobs))

    return uvloop.run(run_all())


async def _boot_each_kind() -> None:
    from soliloquy_services.executor.launcher import open_launcher
    from soliloquy_services.executor.policy import KINDS, SandboxSettings

    site = await open_launcher(SandboxSettings())
    try:
        # The first one is already up, so its boot would take no time.
        await site.booted.pop().close()
        echo(f"runsc {site.runsc.version} on {site.platform} ({site.runsc.path})")
        echo(f"control groups: {'memory and pids' if site.cgroup else f'none ({site.unbounded})'}")
        for kind in KINDS:
            before = time.monotonic()
            sandbox = await site.boot(kind)
            echo(f"{kind}: up in {time.monotonic() - before:.2f} s, {len(sandbox.proofs)} proofs")
            await sandbox.close()
        echo("proved from inside: " + "; ".join(sandbox.proofs))
    finally:
        await asyncio.to_thread(site.folder.remove)


async def _serve(listen: str, tls: ServerTls | None, settings: "SandboxSettings", grace_seconds: float) -> None:
    from soliloquy_services.executor.pool import SandboxPool
    from soliloquy_services.executor.server import SandboxServer

    stopped = stop_signals()
    pool = SandboxPool(settings)
    server = SandboxServer(pool, settings, tls)
    # Listens before the pool starts: an address in use fails at once, and early callers are told to wait.
    address = await server.start(listen)
    try:
        await pool.start()
        echo(f"serving on {address}")
        await stopped.wait()
    finally:
        await server.stop(grace_seconds)
        await pool.stop()


def outcome_json(done: Execution) -> dict[str, Any]:
    return {
        "status": status_name(done),
        "values": {named.name: plain(named.value) for named in done.values},
        "stdout": done.stdout,
        "error": done.error,
        "error_line": done.error_line,
        "lane": lane_name(done),
        "isolation": done.isolation,
        "runsc_version": done.runsc_version,
        "seconds": done.seconds,
        "waited_seconds": done.waited_seconds,
        "recomputed": list(done.recomputed),
    }


def outcome_lines(done: Execution) -> Iterator[str]:
    line = f" (line {done.error_line})" if done.error_line else ""
    yield f"{status_name(done)}: {done.error}{line}" if done.error else status_name(done)
    for named in done.values:
        again = "  (recomputed on the host)" if named.name in done.recomputed else ""
        yield f"{named.name} = {shown(named.value)}{again}"
    if done.stdout:
        yield "stdout:"
        yield from (f"    {printed}" for printed in done.stdout.splitlines())
    if done.isolation:
        lane = lane_name(done).replace("_", "-")
        times = f"{_milliseconds(done.seconds)} after waiting {_milliseconds(done.waited_seconds)}"
        yield f"{lane} lane, {times}; {done.isolation}, runsc {done.runsc_version}"


def _milliseconds(seconds: float) -> str:
    return f"{seconds * 1_000:.1f} ms"
