"""Logs a training's steps: one JSON line per step, the same curves for TensorBoard, gauges for Prometheus."""

import json
from collections import deque
from collections.abc import Iterator, Mapping
from contextlib import ExitStack
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from soliloquy.runtime.instruments import counter, gauge
from training.state import complete, writing

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


class StepLog:
    """Written by the first worker; other processes may read `steps` meanwhile."""

    def __init__(self, metrics: Path, curves: Path) -> None:
        self._metrics = metrics
        self._curves = curves
        self._opened = ExitStack()

    def begin(self, step: int) -> None:
        """Discards the records of later steps, since the training resumes after this one."""
        # Imported here because it takes a second, which readers of steps need not wait for.
        from torch.utils.tensorboard import SummaryWriter

        lines = [line for line in _lines(self._metrics) if json.loads(line)["step"] <= step]
        with complete(self._metrics) as unfinished:
            unfinished.write_text("".join(lines), "utf-8")
        with writing(self._metrics):
            # Without a buffer, so that closing it writes nothing that was refused before.
            self._file = self._opened.enter_context(self._metrics.open("ab", buffering=0))
        with writing(self._curves):
            self._writer = self._opened.enter_context(SummaryWriter(str(self._curves), purge_step=step + 1))

    def add(self, step: Step) -> None:
        line = f"{json.dumps(asdict(step))}\n".encode()
        with writing(self._metrics):
            while line:
                line = line[self._file.write(line) :]
        with writing(self._curves):
            for name in ("loss", "learning_rate", "gradient", "validation"):
                if (value := getattr(step, name)) is not None:
                    self._writer.add_scalar(name, value, step.step)
            self._writer.add_scalar("tokens_per_second", step.tokens / step.seconds, step.step)

    def close(self) -> None:
        with writing(self._curves):
            self._opened.close()


def steps(metrics: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in _lines(metrics)]


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
