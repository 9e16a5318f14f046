from pathlib import Path

import pytest

from tests.faults.shim import built


@pytest.fixture(scope="session")
def shim(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return built(tmp_path_factory.mktemp("shim"))
