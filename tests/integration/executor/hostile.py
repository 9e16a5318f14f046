"""Hostile code and its expected outcome, by name."""

import tomllib
from dataclasses import dataclass
from pathlib import Path

from soliloquy.v1 import sandbox_pb2
from soliloquy.v1.sandbox_pb2 import Lane, Status


@dataclass(frozen=True, kw_only=True, slots=True)
class Deed:
    """`told` is part of the error, or of the value of `x` if the job succeeds and names it."""

    code: str
    status: Status
    lane: Lane
    told: str = ""
    names: tuple[str, ...] = ()


def deeds(file: Path) -> dict[str, Deed]:
    return {
        name: Deed(
            code=told["code"],
            status=getattr(sandbox_pb2, f"STATUS_{told['status'].upper()}"),
            lane=getattr(sandbox_pb2, f"LANE_{told['lane'].upper()}"),
            told=told.get("told", ""),
            names=tuple(told.get("names", ())),
        )
        for name, told in tomllib.loads(file.read_text("utf-8")).items()
    }


HOSTILE = deeds(Path(__file__).with_suffix(".toml"))
