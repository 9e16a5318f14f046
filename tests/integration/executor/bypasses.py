"""Code that tries to fool the vet, and code that passes the vet but is wrong."""

from pathlib import Path

from soliloquy.v1.sandbox_pb2 import LANE_FAST, LANE_FORK, STATUS_ERROR, STATUS_MEMORY, STATUS_OK
from tests.integration.executor.hostile import Deed, deeds

_LARGE = {
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
BYPASSES = deeds(Path(__file__).with_suffix(".toml")) | _LARGE
