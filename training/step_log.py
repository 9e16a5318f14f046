"""Logs a training's steps: one JSON line per step, the same curves for TensorBoard, gauges for Prometheus."""

import json
from collections import deque
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, closing
from dataclasses import asdict, dataclass, field
from itertools import islice
from pathlib import Path
from typing import Any

from soliloquy.runtime.metrics import counter, gauge
from soliloquy_training.state import complete, writing

STEP = gauge("soliloquy_training_step")
STEPS = gauge("soliloquy_training_steps")
LOSS = gauge("soliloquy_training_loss")
VALIDATION_LOSS = gauge("soliloquy_training_validation_loss")
TOKENS_PER_SECOND = gauge("soliloquy_training_tokens_per_second")
STEP_SECONDS = gauge("soliloquy_training_step_seconds")
CHECKPOINT = gauge("soliloquy_training_checkpoint_timestamp_seconds")
ROUNDS = counter("soliloquy_training_rounds_total")
# Create the series at once, so that a dashboard shows zeros instead of no data.
for outcome in ("activated", "worse", "refused", "diverged"):
    ROUNDS.labels(outcome)


@dataclass(frozen=True, kw_only=True, slots=True)
class Step:
    """The result of a step over all workers."""

    step: int
    steps: int
    # The mean over learned tokens, before the step.
    loss: float
    learning_rate: float
    gradient: float
    tokens: int
    learned_tokens: int
    seconds: float
    # The mean over held-out tokens, after the step; None if it was not measured.
    validation: float | None = None
    # The curves of methods besides SFT, such as rewards and divergence, by TRL's names.
    figures: Mapping[str, float] = field(default_factory=dict)


class StepLog:
    """Written by the first worker; other processes may read `steps` meanwhile."""

    def __init__(self, metrics: Path, curves: Path) -> None:
        self._metrics = metrics
        self._folder = curves
        self._opened = ExitStack()

    def begin(self, step: int) -> None:
        """Discards the records of later steps, since the training resumes after this one."""
        # Imported here, because readers of steps need not wait for it.
        from soliloquy_training.curves import Curves, WholeWrites

        lines = [line for line in _lines(self._metrics) if json.loads(line)["step"] <= step]
        with complete(self._metrics) as unfinished:
            unfinished.write_text("".join(lines), "utf-8")
        with writing(self._metrics):
            self._file = self._opened.enter_context(closing(WholeWrites(self._metrics)))
        with writing(self._folder):
            self._curves = self._opened.enter_context(closing(Curves(self._folder, after=step)))

    def add(self, step: Step) -> None:
        with writing(self._metrics):
            self._file.write(f"{json.dumps(asdict(step))}\n".encode())
        with writing(self._folder):
            self._curves.add(step.step, curve_values(asdict(step)))

    def close(self) -> None:
        with writing(self._folder):
            self._opened.close()


def curve_values(step: Mapping[str, Any]) -> dict[str, float]:
    shown = ("loss", "learning_rate", "gradient", "validation")
    values = {name: value for name in shown if (value := step[name]) is not None}
    return values | dict(step["figures"]) | {"tokens_per_second": step["tokens"] / step["seconds"]}


def steps(metrics: Path, after: int = 0) -> list[dict[str, Any]]:
    """Returns the steps after one of them; each has a line of its own."""
    return [json.loads(line) for line in islice(_lines(metrics), after, None)]


def newest(metrics: Path) -> dict[str, Any] | None:
    last = deque(_lines(metrics), maxlen=1)
    return dict(json.loads(last[0])) if last else None


def tell(step: Mapping[str, Any]) -> None:
    """Exports a step to Prometheus."""
    STEP.set(step["step"])
    STEPS.set(step["steps"])
    LOSS.set(step["loss"])
    if step["validation"] is not None:
        VALIDATION_LOSS.set(step["validation"])
    TOKENS_PER_SECOND.set(step["tokens"] / step["seconds"])
    STEP_SECONDS.set(step["seconds"])


def _lines(metrics: Path) -> Iterator[str]:
    """Yields complete lines only: a writer, running or killed, may have left half a line."""
    if metrics.exists():
        with metrics.open(encoding="utf-8") as file:
            yield from (line for line in file if line.endswith("\n"))
