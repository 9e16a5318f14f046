"""A base too small to learn much, a few conversations, and a training that takes seconds."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from soliloquy_training.data import prepare
from soliloquy_training.folder import Job
from soliloquy_training.settings import Lora, TrainingSettings
from soliloquy_training.step_log import StepLog
from soliloquy_training.templating import Template
from tests.integration.training.processes import train
from tests.models import needs_torch
from tests.unit.training.growing import conversations, dataset

collect_ignore_glob: list[str] = []
SETTINGS = TrainingSettings(
    sequence_length=3840,
    batch=1,
    max_steps=5,
    learning_rate=1e-2,
    lora=Lora(rank=4, alpha=8, dropout=0.1),
    validation_share=0.2,
    validate_every=3,
    checkpoint_every=2,
)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if Path(__file__).parent in item.path.parents:
            item.add_marker(needs_torch)


@pytest.fixture(scope="session")
def base(tmp_path_factory: pytest.TempPathFactory) -> Path:
    from benchmarks.random_weights import make_base

    return make_base(tmp_path_factory.mktemp("models") / "nano", "nano")


@pytest.fixture(scope="session")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return dataset(tmp_path_factory.mktemp("data") / "grown", conversations(3))


@pytest.fixture(scope="session")
def whole(base: Path, data: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of an uninterrupted training."""
    folder = tmp_path_factory.mktemp("trained") / "whole"
    train(Job(settings=SETTINGS, base=base, data=str(data), folder=folder))
    return folder


@pytest.fixture
def job(base: Path, data: Path, tmp_path: Path) -> Callable[..., object]:
    """Makes a job from its name and the settings that differ."""

    def make(name: str, **differing: object) -> Job:
        settings = SETTINGS.model_copy(update=differing)
        return Job(settings=settings, base=base, data=str(data), folder=tmp_path / name)

    return make


@pytest.fixture
def loop(base: Path, data: Path, tmp_path: Path) -> Callable[..., Any]:
    """Makes a model and the loop that trains it from settings that differ."""
    from soliloquy_training.loop import Loop
    from soliloquy_training.model import build
    from soliloquy_training.world import World

    def make(**chosen: Any) -> tuple[Any, Loop]:
        settings = TrainingSettings(**{"sequence_length": 3072, "batch": 1} | chosen)
        prepared = prepare(tmp_path / "data", str(data), settings, Template(base), lambda _: None)
        model = build(base, settings, World())
        log = StepLog(tmp_path / "metrics.jsonl", tmp_path / "tensorboard")
        return model, Loop(model, prepared, settings, World(), tmp_path / "none", log)

    return make
