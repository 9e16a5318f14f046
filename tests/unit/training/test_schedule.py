"""The learning rate of each step."""

from pathlib import Path

import numpy as np
import pytest

from soliloquy_training.data import Prepared
from soliloquy_training.schedule import Schedule
from soliloquy_training.settings import TrainingSettings


def rates(tmp_path: Path, **settings: object) -> list[float]:
    """Returns the learning rates of four steps of one sample each, from 1.0."""
    np.savez(tmp_path / "samples.npz", starts=[0, 8, 16, 24, 32], learned=[1] * 4, held_out=[False] * 4)
    (tmp_path / "ids.bin").write_bytes(np.zeros(32, dtype=np.int32).tobytes())
    (tmp_path / "learned.bin").write_bytes(np.ones(32, dtype=np.bool_).tobytes())
    (tmp_path / "summary.json").write_text("{}")
    chosen = TrainingSettings.model_validate({"sequence_length": 8, "batch": 1, "learning_rate": 1.0, **settings})
    schedule = Schedule(Prepared(tmp_path), chosen)
    return [schedule.learning_rate(step) for step in range(1, schedule.steps + 1)]


def test_along_a_line_the_rate_falls_by_the_same_at_each_step(tmp_path: Path) -> None:
    assert rates(tmp_path, decay="linear", warmup_share=0.0) == [1.0, 0.75, 0.5, 0.25]


def test_along_a_cosine_it_falls_most_in_the_middle_and_down_to_the_final_share(tmp_path: Path) -> None:
    found = rates(tmp_path, warmup_share=0.0, final_share=0.1)
    assert found == pytest.approx([1.0, 0.1 + 0.9 * (1 + 0.5**0.5) / 2, 0.55, 0.1 + 0.9 * (1 - 0.5**0.5) / 2])
