"""Compiled layers: what they compute is what the plain ones do, and they are compiled once."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from soliloquy.runtime.failure import Failure
from soliloquy_training.packing import padded, row
from soliloquy_training.settings import TrainingSettings

pytestmark = pytest.mark.thorough


# torch's tracing reads attributes that warn.
@pytest.mark.filterwarnings("ignore")
def test_compiled_layers_learn_what_plain_ones_do_and_are_compiled_in_the_first_step(loop: Callable[..., Any]) -> None:
    import torch
    from torch._dynamo.utils import counters

    def losses(compile: str) -> tuple[list[float], list[int]]:
        torch.compiler.reset()
        counters.clear()
        _, made = loop(compile=compile, batch=2)
        learned, graphs = [], []
        for step in range(1, 4):
            learned += made.learn(step, made.schedule.sequences_of(step), 1e-3)
            graphs.append(counters["stats"]["unique_graphs"])
        return learned, graphs

    plain, none = losses("none")
    compiled, graphs = losses("layers")
    assert compiled == pytest.approx(plain, rel=1e-4)
    assert none == [0, 0, 0]
    assert graphs[0] > 0
    assert graphs == [graphs[0]] * 3


def test_what_fills_a_row_up_is_not_learned() -> None:
    drawn = row([(np.arange(5), np.ones(5, dtype=bool)), (np.arange(9, 18), np.ones(9, dtype=bool))])
    filled = padded(drawn, 20)
    assert filled.ids.shape == filled.positions.shape == (1, 20)
    assert filled.borders.tolist() == filled.ends.tolist() == [0, 5, 14, 20]
    assert filled.places.tolist() == list(range(20))
    assert filled.at is drawn.at
    assert filled.targets is drawn.targets


def test_a_machine_without_a_compiler_is_told_before_the_training(monkeypatch: pytest.MonkeyPatch) -> None:
    from soliloquy_training.model import check_hardware

    monkeypatch.setenv("CC", "")
    monkeypatch.setenv("PATH", "")
    with pytest.raises(Failure, match="install gcc, or use compile: none"):
        check_hardware(TrainingSettings(compile="layers"))
    check_hardware(TrainingSettings(compile="none"))
