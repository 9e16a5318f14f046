"""A few preferences, and a training on them that takes seconds."""

from pathlib import Path
from typing import Any

from tests.unit.dataset.exports.test_preferences import copied, sent_back
from tests.unit.training.growing import dataset

SETTINGS: dict[str, Any] = {
    "sequence_length": 4096,
    "batch": 2,
    "micro_batch": 2,
    "epochs": 3,
    "learning_rate": 1e-2,
    "lora": {"rank": 4, "alpha": 8},
    "validation_share": 0.3,
    "validate_every": 3,
    "checkpoint_every": 2,
}


def preferring(folder: Path) -> Path:
    """Makes a dataset of three conversations, in which rules sent back decisions of tutors and a student's message."""
    grown = [copied(ordinal) for ordinal in range(3)]
    for one in grown:
        sent_back(one, 1, "soliloquy/student")
        for turn in one.turns[:2]:
            sent_back(one, turn.number, "soliloquy/deciding")
    return dataset(folder, grown)
