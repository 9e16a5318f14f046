"""Commands under `soliloquy problems` that write, judge and compare word problems."""

from collections.abc import Mapping

PROBLEMS: Mapping[str, str] = {
    "generate": f"{__name__}.generating",
    "improve": f"{__name__}.improving",
    "compare": f"{__name__}.measuring",
    "score": f"{__name__}.judging",
    "calibrate": f"{__name__}.judging",
}
