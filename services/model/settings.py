"""Settings of the model service, apart from the engine and its weights."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

from soliloquy.runtime.failure import Failure
from soliloquy.runtime.traces.opening import TraceSettings
from soliloquy_services.model.engines.settings import EngineSettings
from soliloquy_services.model.engines.vllm import settings as vllm

# A GPU fills only with many answers at once.
_VLLM_BATCH = 256
# It answers as many as it is asked.
_SCRIPTED_BATCH = 64


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


def engine_values(engine: str, model: Path, given: Mapping[str, Any]) -> dict[str, Any]:
    """Returns the values of an engine's settings: those that are given, and what its engine usually has."""
    if "model" in given:
        raise Failure("the engine's settings name a model, which --model does: leave it out")
    usual = {"batch": _VLLM_BATCH} if engine == vllm.NAME else {}
    return {**usual, **given, "model": model}


class Load(NamedTuple):
    """Requests per replica: what autoscaling aims for, and the most."""

    target: int
    most: int


def load(settings: EngineSettings | None, target: int | None = None, most: int | None = None) -> Load:
    """Returns what is given, or what follows from the engine's batch; the scripted engine has no settings."""
    batch = settings.batch if settings else _SCRIPTED_BATCH
    found = Load(target or batch, most or 2 * batch)
    if found.most < batch:
        raise Failure(f"a replica takes {most} requests at most, which never fill its batch of {batch}")
    if found.target > found.most:
        raise Failure(f"a replica aims for {target} requests and takes {found.most} at most")
    return found


def reserved_gpus(engine: str, settings: EngineSettings | None, asked: float | None) -> float:
    """Returns the GPUs to reserve for a replica: those that its engine uses, or a share of one."""
    if engine != vllm.NAME or settings is None:
        return asked or 0.0
    used = settings.vllm.gpus
    if asked is None:
        return float(used)
    if asked > 1 or (asked and used > 1):
        if asked != used:
            raise Failure(
                f"{asked:g} GPUs are reserved for a replica, which uses {used} (vllm.tensor_parallel times "
                "vllm.pipeline_parallel): leave the number of GPUs out"
            )
    elif 0 < asked < settings.vllm.memory_share:
        raise Failure(
            f"{asked:g} of a GPU is reserved for a replica, and vllm.memory_share is {settings.vllm.memory_share:g}: "
            f"set it to {asked:g} or less"
        )
    return asked
