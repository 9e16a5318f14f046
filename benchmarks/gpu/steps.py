"""The steps of the programme; as a module of its own, runs one of them and prints its figures as a line of JSON."""

import asyncio
import json
import sys
import tomllib
from pathlib import Path
from typing import Any, Literal

from pydantic import BaseModel, TypeAdapter

from soliloquy_training.settings import TrainingSettings


class Step(BaseModel, frozen=True, extra="forbid"):
    kind: Literal["training", "engine"]
    # A size of `benchmarks/random_weights.toml`.
    size: str
    # The most that it may take.
    seconds: int
    # The library without which it cannot run.
    needs: str = ""
    settings: TrainingSettings = TrainingSettings()


STEPS = TypeAdapter(dict[str, Step]).validate_python(
    tomllib.loads(Path(__file__).with_suffix(".toml").read_text("utf-8"))
)


def _measure(name: str, data: str, out: Path) -> dict[str, Any]:
    step = STEPS[name]
    base = _base(out, step.size)
    if step.kind == "training":
        from benchmarks.gpu import training

        return training.measure(base, data, out / "training" / name, step.settings)
    from benchmarks.gpu import engines

    return asyncio.run(engines.measure(base, step.needs or "transformers", out))


def _base(out: Path, size: str) -> Path:
    """Returns random weights whose answers are as long as they may be; makes them once."""
    import torch

    from benchmarks.random_weights import make_base

    base = out / "bases" / size
    if not (base / "tokenizer.json").exists():
        make_base(base, size, ends=False)
        # Engines want most of the card to themselves.
        torch.cuda.empty_cache()
    return base


if __name__ == "__main__":
    figures = _measure(sys.argv[1], sys.argv[2], Path(sys.argv[3]))
    print(json.dumps(figures))
