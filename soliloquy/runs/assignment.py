"""An assignment says what one process serves; it travels to the process as JSON."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from pydantic import TypeAdapter

from soliloquy.runs.model import ModelSettings
from soliloquy.runtime.tls import ServerTls, Tls
from soliloquy.runtime.traces.opening import TraceSettings
from soliloquy.runtime.transports.kafka import KafkaSettings

if TYPE_CHECKING:
    from soliloquy_services.collector.settings import LiveSettings
    from soliloquy_services.executor.policy import SandboxSettings
    from soliloquy_services.gateway.settings import GatewaySettings

# The services that handle events. The gateway handles none: it follows topics.
SERVICES = ("curriculum", "planner", "student", "tutor", "codegen", "executor", "composer", "collector")
# The services that a conversation goes through again and again.
LOOP = ("student", "tutor", "codegen", "executor", "composer")


@dataclass(frozen=True, kw_only=True, slots=True)
class GatewayAssignment:
    settings: "GatewaySettings"
    # The folder of problem files that a run may name.
    problem_files: Path | None = None
    # The address of the SandboxService that runs the programs of chats; empty if the gateway offers no chats.
    sandbox: str = ""
    sandbox_tls: Tls | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class Assignment:
    services: Sequence[str]
    # A Kafka, or the file of an embedded log.
    transport: KafkaSettings | Path
    model: ModelSettings = field(default_factory=ModelSettings)
    # None takes the defaults.
    sandbox: "SandboxSettings | None" = None
    datasets: "LiveSettings | None" = None
    # The file of the classifiers that judge written problems.
    classifiers: Path | None = None
    # How many events each service handles at once; None leaves that to the service.
    max_in_flight: int | None = None
    # How many events a service that waits for models handles at once, if more than usual.
    at_once: int = 0
    # Set if the process is the gateway.
    gateway: GatewayAssignment | None = None
    traces: TraceSettings = field(default_factory=TraceSettings)
    # The addresses of health and metrics, and of the executor's gRPC server.
    http: str | None = None
    grpc: str | None = None
    # For `grpc`; the gateway has its own.
    tls: ServerTls | None = None
    # Seconds that unfinished work has when the process is told to stop.
    grace: float = 20.0
    # Seconds to wait for a Kafka that is unavailable at the start; None waits for ever.
    patience: float | None = 0.0

    @property
    def names(self) -> Sequence[str]:
        """The names of the services in metrics and messages."""
        return ("gateway",) if self.gateway else self.services

    def to_json(self) -> bytes:
        """One line, for the standard input of a process: it may hold passwords, which command lines would show."""
        return _json().dump_json(self)

    @staticmethod
    def from_json(line: bytes) -> "Assignment":
        return _json().validate_json(line)


@cache
def _json() -> TypeAdapter[Assignment]:
    from soliloquy_services.collector.settings import LiveSettings
    from soliloquy_services.executor.policy import SandboxSettings
    from soliloquy_services.gateway.settings import GatewaySettings

    adapter = TypeAdapter(Assignment)
    adapter.rebuild(_types_namespace={one.__name__: one for one in (LiveSettings, SandboxSettings, GatewaySettings)})
    return adapter
