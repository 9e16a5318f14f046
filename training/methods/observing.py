"""Logs what a trainer of TRL does as our own loop logs it, and keeps the weights that did best on held-out rows."""

import math
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from transformers import TrainerCallback, TrainerControl, TrainerState, TrainingArguments

from soliloquy_training.checkpoints import Checkpoints, Progress
from soliloquy_training.folder import Job
from soliloquy_training.settings import Diverged
from soliloquy_training.step_log import Step, StepLog, steps
from soliloquy_training.world import World

# Names of our own for what a trainer logs; it counts tokens from its start.
_OURS = {"loss", "grad_norm", "learning_rate", "num_tokens", "epoch", "step_time"}
_HELD_OUT = "eval_"
# What a validation says of itself.
_MEASURED = (
    "loss",
    "runtime",
    "samples_per_second",
    "steps_per_second",
    "epoch",
    "num_tokens",
    "model_preparation_time",
)


class Observer(TrainerCallback):  # type: ignore[misc]  # the library has no types
    """Writes a line for each step, and ends a training that diverges or gets no better."""

    def __init__(self, job: Job, metrics: Path, world: World, log: StepLog, checkpoints: Checkpoints) -> None:
        self._settings = job.settings
        self._metrics = metrics
        self._world = world
        self._log = log
        self._checkpoints = checkpoints
        self._validates = False
        self._tokens = 0
        self._began = 0.0
        self._logs: Mapping[str, Any] = {}
        # Counted by the trainer.
        self.learned_tokens = 0
        self.progress = Progress()

    def on_train_begin(self, args: TrainingArguments, state: TrainerState, control: TrainerControl, **_: Any) -> None:
        self._validates = args.do_eval
        if self._world.first:
            self._log.begin(state.global_step)
        self._world.wait()
        for step in steps(self._metrics):
            self._progress(step["step"], step["validation"])

    def on_step_begin(self, *_: Any, **__: Any) -> None:
        self._began = time.monotonic()

    def on_step_end(self, args: TrainingArguments, state: TrainerState, control: TrainerControl, **_: Any) -> None:
        if self._validates and state.global_step == state.max_steps:
            control.should_evaluate = True

    def on_log(
        self, args: TrainingArguments, state: TrainerState, control: TrainerControl, logs: dict[str, Any], **_: Any
    ) -> None:
        if "loss" not in logs:
            return
        if not (math.isfinite(logs["loss"]) and math.isfinite(logs["grad_norm"])):
            saved = (
                f"earlier weights are in {self._checkpoints.folder}" if state.global_step > 1 else "nothing was kept"
            )
            raise Diverged(
                f"the loss of step {state.global_step} is {logs['loss']} and its gradient {logs['grad_norm']}: "
                f"{saved}; lower learning_rate ({self._settings.learning_rate:g}) or raise beta, under another --name"
            )
        self._seconds = time.monotonic() - self._began
        self._logs = dict(logs)
        if not control.should_evaluate:
            self._add(state, {})

    def on_evaluate(
        self,
        args: TrainingArguments,
        state: TrainerState,
        control: TrainerControl,
        metrics: dict[str, Any],
        model: Any,
        **_: Any,
    ) -> None:
        self._add(state, metrics)
        if self._progress(state.global_step, metrics[f"{_HELD_OUT}loss"]):
            self._checkpoints.save_best(model)
        if 0 < self._settings.patience <= self.progress.stale:
            control.should_training_stop = True

    def _progress(self, step: int, validation: float | None) -> bool:
        """Returns whether this validation is the best one so far."""
        progress = self.progress
        progress.step = step
        if validation is None:
            return False
        if better := progress.best is None or validation < progress.best:
            progress.best, progress.best_step, progress.stale = validation, step, 0
        else:
            progress.stale += 1
        return better

    def _add(self, state: TrainerState, metrics: Mapping[str, Any]) -> None:
        self.progress.step = state.global_step
        logs, tokens = self._logs, int(self._logs["num_tokens"])
        figures = {name: float(value) for name, value in logs.items() if name not in _OURS and value is not None}
        for name, value in metrics.items():
            measured = name.removeprefix(_HELD_OUT)
            if name.startswith(_HELD_OUT) and measured not in _MEASURED:
                figures[f"held out {measured}"] = float(value)
        if self._world.first:
            self._log.add(
                Step(
                    step=state.global_step,
                    steps=state.max_steps,
                    loss=logs["loss"],
                    learning_rate=logs["learning_rate"],
                    gradient=logs["grad_norm"],
                    tokens=tokens - self._tokens,
                    learned_tokens=self.learned_tokens,
                    seconds=self._seconds,
                    validation=metrics.get(f"{_HELD_OUT}loss"),
                    figures=figures,
                )
            )
        self._tokens, self.learned_tokens = tokens, 0
