"""What an operator chooses for the model service; the engine and its weights are said apart from it."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from soliloquy.runtime.traces.settings import TraceSettings


@dataclass(frozen=True, kw_only=True, slots=True)
class ServingSettings:
    # Ray Serve binds gRPC and HTTP on one host.
    host: str = "127.0.0.1"
    grpc_port: int = 9000
    http_port: int = 8000
    min_replicas: int = 1
    max_replicas: int = 1
    # Of each replica; a third of a GPU is a third of its memory, which nobody enforces.
    gpus: float = 0.0
    # Of each replica: so many requests are with the engine and so many wait; further ones are refused.
    max_ongoing: int = 128
    max_queued: int = 512
    # Of each replica, which autoscaling keeps to; it does nothing where the two numbers of replicas are one.
    target_ongoing: int = 64
    # For requests under way when a replica is to end.
    grace: float = 20.0
    # A replica is asked so often whether its engine has a fault, and is replaced after three times in a row.
    health_seconds: float = 2.0
    # LoRA adapters that every replica has from its start: name to folder.
    adapters: Mapping[str, str] = field(default_factory=dict)
    traces: TraceSettings = field(default_factory=TraceSettings)
