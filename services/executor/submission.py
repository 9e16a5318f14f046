"""Prepares a job for a sandbox: strips code fences, splits names, fills in limits."""

from dataclasses import dataclass
from typing import Self, TypeVar

from soliloquy.runtime.code import identifier, names, unfenced
from soliloquy.runtime.failure import Failure
from soliloquy.v1.sandbox_pb2 import STATUS_ERROR, Execution, Job
from soliloquy_services.executor.policy import LIMITS, SandboxSettings

_LEAST_WALL_SECONDS = 0.001

Number = TypeVar("Number", int, float)


class LimitExceeded(Failure):
    """The job asks for more than the service allows, or for too little to run anything."""


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

    @classmethod
    def from_job(cls, job: Job, settings: SandboxSettings) -> Self:
        """Raises LimitExceeded."""
        limits = job.limits
        return cls(
            id=job.id,
            code=unfenced(job.code),
            names=tuple(dict.fromkeys(name for listed in job.result_variables for name in names(listed))),
            wall_seconds=_limit("wall_seconds", limits.wall_seconds, _LEAST_WALL_SECONDS, settings.wall_seconds),
            memory_bytes=_limit(
                "memory_bytes", limits.memory_bytes, LIMITS["least_memory_bytes"], settings.memory_bytes
            ),
            stdout_bytes=_limit("stdout_bytes", limits.stdout_bytes, 1, LIMITS["stdout_bytes"]),
            single_use=job.single_use or settings.audit,
        )

    def rejection(self) -> Execution | None:
        """Returns the outcome of a job that no sandbox can run; None if a sandbox has to try."""
        size = len(self.code.encode("utf-8", "replace"))
        invalid = [name for name in self.names if not name.isidentifier()]
        if not self.code.strip():
            error = "there is no code"
        elif size > LIMITS["code_bytes"]:
            error = f"{size} bytes of code; a job may have {LIMITS['code_bytes']}"
        elif invalid:
            error = f"result variable {invalid[0][:100]!r} is not a name"
        elif len(self.names) > LIMITS["result_variables"]:
            error = f"{len(self.names)} result variables; a job may have {LIMITS['result_variables']}"
        else:
            return None
        return Execution(status=STATUS_ERROR, error=error)


def _limit(name: str, requested: Number, least: Number, most: Number) -> Number:
    """Returns the requested limit, or the highest if the job leaves it out."""
    if not requested:
        return most
    if not least <= requested <= most:
        raise LimitExceeded(f"{name} is {requested}: use a value from {least} to {most}, or omit it for {most}")
    return requested
