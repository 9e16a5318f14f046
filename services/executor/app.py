"""Wires the executor service."""

from functools import partial

from soliloquy.runtime.handling import Service
from soliloquy.v1.events_pb2 import CodeFailed, CodeWritten, EnrichmentNeeded, ProgramsWritten, ReplyNeeded
from soliloquy_services.executor.handler import JobExecutor, run, run_programs
from soliloquy_services.executor.policy import SandboxSettings


def service(settings: SandboxSettings, sandbox: JobExecutor) -> Service:
    return Service(
        name="executor",
        handlers={
            CodeWritten: partial(run, sandbox=sandbox),
            ProgramsWritten: partial(run_programs, sandbox=sandbox),
        },
        emits=(ReplyNeeded, CodeFailed, EnrichmentNeeded),
        # One running and one waiting job for each sandbox of both lanes; further events wait in the log.
        max_in_flight=4 * settings.sandboxes,
    )
