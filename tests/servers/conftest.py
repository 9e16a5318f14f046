from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.servers import running
from tests.servers.running import RealServer


@pytest.fixture(scope="session")
def weights(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """Makes a model that thinks before it answers, and an adapter "algebra" for it."""
    from benchmarks.random_weights import make_adapter, make_base

    folder = tmp_path_factory.mktemp("models")
    base = make_base(folder / "tiny", thinks=True)
    return base, make_adapter(folder / "algebra", base, seed=0)


@pytest.fixture(scope="session")
def vllm(weights: tuple[Path, Path], tmp_path_factory: pytest.TempPathFactory) -> Iterator[RealServer]:
    with running.vllm(*weights, tmp_path_factory.mktemp("vllm") / "server.log") as server:
        yield server


@pytest.fixture(scope="session")
def llama_cpp(weights: tuple[Path, Path], tmp_path_factory: pytest.TempPathFactory) -> Iterator[RealServer]:
    with running.llama_cpp(weights[0], tmp_path_factory.mktemp("llama-cpp") / "server.log") as server:
        yield server
