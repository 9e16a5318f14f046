"""Provides a base model and adapters for it, made once per test process."""

from pathlib import Path

import pytest

from soliloquy.v1.model_pb2 import Adapter


@pytest.fixture(scope="session")
def base(tmp_path_factory: pytest.TempPathFactory) -> Path:
    from benchmarks.random_weights import make_base

    return make_base(tmp_path_factory.mktemp("models") / "tiny")


@pytest.fixture(scope="session")
def adapters(base: Path) -> list[Adapter]:
    """Makes two adapters, "algebra" and "mechanics"."""
    from benchmarks.random_weights import make_adapter

    made = {name: make_adapter(base.parent / name, base, seed) for seed, name in enumerate(("algebra", "mechanics"))}
    return [Adapter(name=name, path=str(folder)) for name, folder in made.items()]
