"""Metrics of a training."""

from collections.abc import Mapping
from typing import Any

from soliloquy.runtime.instruments import counter, gauge

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


def tell(step: Mapping[str, Any]) -> None:
    """Exports a step as the step log has it."""
    STEP.set(step["step"])
    STEPS.set(step["steps"])
    LOSS.set(step["loss"])
    if step["validation"] is not None:
        VALIDATION_LOSS.set(step["validation"])
    TOKENS_PER_SECOND.set(step["tokens"] / step["seconds"])
    STEP_SECONDS.set(step["seconds"])
