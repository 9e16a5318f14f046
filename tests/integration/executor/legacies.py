"""Things that one job leaves behind, and that another must not find."""

import tomllib
from dataclasses import dataclass
from pathlib import Path

from soliloquy.v1 import sandbox_pb2
from soliloquy.v1.sandbox_pb2 import Lane


@dataclass(frozen=True, kw_only=True, slots=True)
class Legacy:
    """A job, and another that looks for its traces: `x` is the same whether or not the first job ran."""

    left: str
    asked: str
    lanes: tuple[Lane, ...]
    names: tuple[str, ...] = ()


LEGACIES = {
    name: Legacy(
        left=told["left"],
        asked=told["asked"],
        lanes=tuple(getattr(sandbox_pb2, f"LANE_{lane.upper()}") for lane in told["lanes"]),
        names=tuple(told.get("names", ())),
    )
    for name, told in tomllib.loads(Path(__file__).with_suffix(".toml").read_text("utf-8")).items()
}
