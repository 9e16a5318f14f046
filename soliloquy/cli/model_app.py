"""The model service as a Ray Serve configuration names it, on a cluster: `soliloquy.cli.model_app:build`."""

from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict

from services.model.app import application
from services.model.settings import ServingSettings
from soliloquy.cli.model_serve import answering
from soliloquy.cli.observing import endpoint
from soliloquy.problems.bank.bank import bank_names
from soliloquy.runs.model import ModelSettings
from soliloquy.runtime.traces.settings import TraceSettings


class Args(BaseModel):
    """What stands under `args`; what `soliloquy model serve` says by options."""

    model_config = ConfigDict(extra="forbid")

    engine: Literal["scripted", "transformers", "vllm"]
    # The folder of the weights, which every node sees under this path.
    model: Path | None = None
    adapters: Mapping[str, str] = {}
    min_replicas: int
    max_replicas: int
    gpus: float
    target_ongoing: int
    max_ongoing: int
    max_queued: int
    grace: float
    # As --traces and --trace-share.
    traces: str = ""
    trace_share: float = 1.0


def build(args: Args) -> Any:
    """The cluster's own processes bind the addresses: which ones is no matter of the application."""
    scripted = ModelSettings(problems=bank_names())
    return application(partial(answering, args.engine, args.model, scripted), serving_settings(args))


def serving_settings(args: Args) -> ServingSettings:
    """Of what is said of the engine nothing is in them."""
    traces = TraceSettings(url=endpoint(args.traces), share=args.trace_share)
    rest = args.model_dump(exclude={"engine", "model", "traces", "trace_share"})
    return ServingSettings(**rest, traces=traces)
