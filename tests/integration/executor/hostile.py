"""Jobs that try to harm the sandbox, to fool the vet, or to leave something to the next job."""

import tomllib
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from soliloquy.v1.sandbox_pb2 import LANE_FAST, LANE_FORK, STATUS_ERROR, STATUS_MEMORY, STATUS_OK, Lane, Status


@dataclass(frozen=True, kw_only=True, slots=True)
class Deed:
    """`told` is part of the error, or of the value of `x` if the job succeeds and names it."""

    code: str
    status: Status
    lane: Lane
    told: str = ""
    names: tuple[str, ...] = ()


@dataclass(frozen=True, kw_only=True, slots=True)
class Legacy:
    """A job, and another that looks for its traces: `x` is the same whether or not the first job ran."""

    left: str
    asked: str
    lanes: tuple[Lane, ...]
    names: tuple[str, ...] = ()


def _lane(name: str) -> Any:
    return Lane.Value(f"LANE_{name.upper()}")


def _table(name: str) -> dict[str, Any]:
    return tomllib.loads(Path(__file__).with_name(f"{name}.toml").read_text("utf-8"))


def _deed(told: dict[str, Any]) -> Deed:
    return Deed(**told | {"status": Status.Value(f"STATUS_{told['status'].upper()}"), "lane": _lane(told["lane"])})


HOSTILE = {name: _deed(told) for name, told in _table("hostile").items()}
BYPASSES = {name: _deed(told) for name, told in _table("bypasses").items()} | {
    "brackets too deep are an error": Deed(
        code="x = " + "(" * 500 + "1" + ")" * 500, status=STATUS_ERROR, lane=LANE_FAST, told="too many nested"
    ),
    "signs too many are an error": Deed(
        code="x = " + "-" * 50_000 + "1", status=STATUS_MEMORY, lane=LANE_FORK, told="MemoryError"
    ),
    "sums too long are no harm": Deed(
        code="x = " + "+".join(["1"] * 5_000), status=STATUS_ERROR, lane=LANE_FORK, told="RecursionError"
    ),
    "code too long to vet is run alone": Deed(
        code="x = [" + "1, " * 30_000 + "]\nx = len(x)",
        status=STATUS_OK,
        lane=LANE_FORK,
        told='integer: "30000"',
        names=("x",),
    ),
}
LEGACIES = {
    key: Legacy(**told | {"lanes": tuple(map(_lane, told["lanes"]))}) for key, told in _table("legacies").items()
}
