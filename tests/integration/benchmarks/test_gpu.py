"""The programme for a GPU, run here with the smallest model: what it counts, and what it writes."""

from pathlib import Path

import pytest
from click.testing import CliRunner

from soliloquy_training.settings import TrainingSettings
from tests.models import needs_torch
from tests.unit.training.growing import conversations, dataset

pytestmark = [pytest.mark.thorough, needs_torch]
LORA = TrainingSettings(tune="lora", sequence_length=3072, batch=1)
FULL = TrainingSettings(tune="full", sequence_length=3072, batch=1)


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return dataset(tmp_path_factory.mktemp("data") / "grown", conversations(3))


@pytest.fixture(scope="module")
def base(tmp_path_factory: pytest.TempPathFactory) -> Path:
    from benchmarks.random_weights import make_base

    return make_base(tmp_path_factory.mktemp("models") / "nano", "nano", ends=False)


@pytest.mark.parametrize("settings", [LORA, FULL])
def test_the_operations_of_a_step_are_those_that_torch_counts(
    base: Path, data: Path, settings: TrainingSettings, tmp_path: Path
) -> None:
    from torch.nn.attention import SDPBackend, sdpa_kernel
    from torch.utils.flop_counter import FlopCounterMode

    from benchmarks.gpu.training import operations
    from soliloquy_training.data import prepare
    from soliloquy_training.loop import Loop
    from soliloquy_training.model import build
    from soliloquy_training.step_log import StepLog
    from soliloquy_training.templating import Template
    from soliloquy_training.world import World

    prepared = prepare(tmp_path / "data", str(data), settings, Template(base), lambda _: None)
    model = build(base, settings, World())
    log = StepLog(tmp_path / "metrics.jsonl", tmp_path / "tensorboard")
    loop = Loop(model, prepared, settings, World(), tmp_path / "none", log)
    packed = loop.schedule.sequences_of(1)

    def counted(batch: list[list[int]]) -> int:
        with sdpa_kernel(SDPBackend.MATH), FlopCounterMode(display=False) as counter:
            loop.learn(1, batch, 1e-4)
        return int(counter.get_total_flops())

    alone = [[number] for one in packed for number in one]
    with_weights, in_attention = operations(model, prepared, alone)
    # This kernel computes what each token does not see too.
    assert with_weights + 2 * in_attention == pytest.approx(counted(alone), rel=0.05)
    with_weights, in_attention = operations(model, prepared, packed)
    assert with_weights + in_attention < counted(packed) < with_weights + 2 * in_attention
    log.close()


def test_a_training_is_measured_on_the_hardware_that_is_there(base: Path, data: Path, tmp_path: Path) -> None:
    from benchmarks.gpu.training import measure

    found = measure(base, str(data), tmp_path / "measured", LORA, steps=1, side=64)
    assert 0 < found["trained"] < found["parameters"]
    assert found["of_product"] > 0
    assert found["packed_over_alone"] == pytest.approx([1, 1], abs=1e-3)
    assert found["mfu"] is None if found["device"] == "cpu" else 0 < found["mfu"] < 1


async def test_an_engine_is_measured_while_its_adapter_is_replaced(base: Path, tmp_path: Path) -> None:
    from benchmarks.gpu.engines import measure
    from benchmarks.gpu.tables import tables

    found = await measure(base, "transformers", tmp_path, callers=(1, 2), max_tokens=8)
    assert list(found["callers"]) == ["1", "2"]
    assert all(each["ours"]["tokens_per_second"]["min"] > 0 for each in found["callers"].values())
    assert found["adapters"]["replaced"] >= 1
    assert "| transformers nano, cpu | 2 | " in tables({"transformers_nano": found})


def test_without_a_gpu_nothing_is_made_up(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import torch

    from benchmarks.gpu.__main__ import gpu

    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    ran = CliRunner().invoke(gpu, ["--data", str(tmp_path), "--out", str(tmp_path), "train_8b_lora"])
    assert "train_8b_lora: not measured, since this machine has no GPU" in ran.output
    assert not list((tmp_path / "figures").iterdir())
