"""A job as it was sent in, made one that a sandbox can be given: unfenced, its names apart, its limits settled."""

from dataclasses import dataclass
from typing import TypeVar

from services.executor.policy import LIMITS
from services.executor.settings import SandboxSettings
from soliloquy.runtime.code import identifier, names, unfenced
from soliloquy.v1.sandbox_pb2 import STATUS_ERROR, Execution, Job

_LEAST_WALL_SECONDS = 0.001

Number = TypeVar("Number", int, float)


class LimitExceeded(ValueError):
    """The caller asks for more than the service allows, or for too little to run anything."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Submission:
    id: str
    code: str
    names: tuple[str, ...]
    wall_seconds: float
    memory_bytes: int
    stdout_bytes: int
    single_use: bool

    @property
    def identifiers(self) -> list[str]:
        return [identifier(name) for name in self.names]


def submission(job: Job, settings: SandboxSettings) -> Submission:
    asked = job.limits
    return Submission(
        id=job.id,
        code=unfenced(job.code),
        names=tuple(dict.fromkeys(name for listed in job.result_variables for name in names(listed))),
        wall_seconds=_within("wall_seconds", asked.wall_seconds, least=_LEAST_WALL_SECONDS, most=settings.wall_seconds),
        memory_bytes=_within(
            "memory_bytes", asked.memory_bytes, least=LIMITS["least_memory_bytes"], most=settings.memory_bytes
        ),
        stdout_bytes=_within("stdout_bytes", asked.stdout_bytes, least=1, most=LIMITS["stdout_bytes"]),
        single_use=job.single_use or settings.audit,
    )


def fault(wanted: Submission) -> Execution | None:
    """The outcome of a job that no sandbox needs to see."""
    size = len(wanted.code.encode("utf-8", "replace"))
    strange = [name for name in wanted.names if not name.isidentifier()]
    if not wanted.code.strip():
        error = "there is no code"
    elif size > LIMITS["code_bytes"]:
        error = f"{size} bytes of code; a job may have {LIMITS['code_bytes']}"
    elif strange:
        error = f"result variable {strange[0][:100]!r} is not a name"
    elif len(wanted.names) > LIMITS["result_variables"]:
        error = f"{len(wanted.names)} result variables; a job may have {LIMITS['result_variables']}"
    else:
        return None
    return Execution(status=STATUS_ERROR, error=error)


def _within(limit: str, asked: Number, *, least: Number, most: Number) -> Number:
    """What was asked for, or the most there is where nothing was."""
    if not asked:
        return most
    if not least <= asked <= most:
        raise LimitExceeded(f"{limit} is {asked}: a job may ask for {least} to {most}, or leave it out for {most}")
    return asked
