"""The model service for a Ray Serve configuration on a cluster: `soliloquy.cli.model_app:build`."""

from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pydantic import BaseModel, Field

from soliloquy.cli.model_serve import ENGINE_NAMES, backend
from soliloquy.cli.observing import endpoint
from soliloquy.problems.bank.bank import bank_names
from soliloquy.runs.model import ModelSettings
from soliloquy.runtime.traces.opening import TraceSettings

if TYPE_CHECKING:
    from services.model.settings import ServingSettings


class Args(BaseModel, extra="forbid"):
    """The `args` of the configuration; they mean the same as the options of `soliloquy model serve`."""

    engine: str = Field(pattern=rf"^({'|'.join(ENGINE_NAMES)})$")
    # The folder of the weights, at the same path on every node.
    model: Path | None = None
    adapters: Mapping[str, str] = {}
    min_replicas: int
    max_replicas: int
    gpus: float
    target_ongoing: int
    max_ongoing: int
    max_queued: int
    grace: float
    traces: str = ""
    trace_share: float = 1.0


def build(args: Args) -> Any:
    """Returns the application; the cluster's own processes bind the addresses."""
    from services.model.app import application

    scripted = ModelSettings(problems=bank_names())
    return application(partial(backend, args.engine, args.model, scripted), serving_settings(args))


def serving_settings(args: Args) -> "ServingSettings":
    from services.model.settings import ServingSettings

    traces = TraceSettings(url=endpoint(args.traces), share=args.trace_share)
    rest = args.model_dump(exclude={"engine", "model", "traces", "trace_share"})
    return ServingSettings(**rest, traces=traces)
