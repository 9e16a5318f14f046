"""What a training exports."""

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
# There before the first of each, so that a dashboard shows none and not nothing at all.
for outcome in ("activated", "worse", "refused", "diverged"):
    ROUNDS.labels(outcome)


def tell(step: Mapping[str, Any]) -> None:
    """Of a step as the journal has it."""
    STEP.set(step["step"])
    STEPS.set(step["steps"])
    LOSS.set(step["loss"])
    if step["validation"] is not None:
        VALIDATION_LOSS.set(step["validation"])
    TOKENS_PER_SECOND.set(step["tokens"] / step["seconds"])
    STEP_SECONDS.set(step["seconds"])
