from collections.abc import Iterator
from pathlib import Path

import pytest

from benchmarks.real_servers import Served
from tests.models.fixtures import adapters, base
from tests.servers import running

__all__ = ["adapters", "base"]


@pytest.fixture(scope="session")
def vllm(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """Serves a model that thinks before it answers, and an adapter "algebra"."""
    from benchmarks.random_weights import make_adapter, make_base

    folder = tmp_path_factory.mktemp("vllm")
    thinking = make_base(folder / "thinking", thinks=True)
    with running.vllm(thinking, make_adapter(folder / "algebra", thinking, seed=0), folder / "server.log") as server:
        yield server


@pytest.fixture(scope="session")
def llama_cpp(base: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    with running.llama_cpp(base, tmp_path_factory.mktemp("llama-cpp") / "server.log") as server:
        yield server
