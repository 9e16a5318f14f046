"""The executor service, wired."""

from functools import partial

from services.executor.handler import JobExecutor, run
from services.executor.settings import SandboxSettings
from soliloquy.runtime.handling import Service
from soliloquy.v1.events_pb2 import CodeFailed, CodeWritten, ReplyNeeded


def service(settings: SandboxSettings, sandbox: JobExecutor) -> Service:
    return Service(
        name="executor",
        handlers={CodeWritten: partial(run, sandbox=sandbox)},
        emits=(ReplyNeeded, CodeFailed),
        # For each sandbox of the two lanes one job that runs and one that waits; the rest waits in the log.
        max_in_flight=settings.max_in_flight or 4 * settings.sandboxes,
    )
