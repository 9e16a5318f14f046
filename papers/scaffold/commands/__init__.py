"""The command under `soliloquy problems` that measures how hard problems are for a student model."""

from collections.abc import Mapping

PROBLEMS: Mapping[str, str] = {"rate": f"{__name__}.rate"}
