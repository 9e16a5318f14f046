"""Settings of the model service, apart from the engine and its weights."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from soliloquy.runtime.traces.opening import TraceSettings


@dataclass(frozen=True, kw_only=True, slots=True)
class ServingSettings:
    # Ray Serve binds gRPC and HTTP on one host.
    host: str = "127.0.0.1"
    grpc_port: int = 9000
    http_port: int = 8000
    min_replicas: int = 1
    max_replicas: int = 1
    # Per replica. A third of a GPU means a third of its memory, but nothing enforces it.
    gpus: float = 0.0
    # Per replica: requests in the engine and requests in the queue; more are refused.
    max_ongoing: int = 128
    max_queued: int = 512
    # Requests per replica that autoscaling aims for; unused if the number of replicas is fixed.
    target_ongoing: int = 64
    # Seconds for requests in progress when a replica shuts down.
    grace: float = 20.0
    # Interval of the health checks; a replica is replaced after three failed ones in a row.
    health_seconds: float = 2.0
    # LoRA adapters that every replica loads at its start: name to folder.
    adapters: Mapping[str, str] = field(default_factory=dict)
    traces: TraceSettings = field(default_factory=TraceSettings)
