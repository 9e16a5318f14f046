"""The gateway on the embedded log."""

from functools import partial
from pathlib import Path

import pytest

from tests.integration.gateway.contract import GatewayContract
from tests.integration.transport.embedded import connect as open_log
from tests.integration.transport.support import Connect


@pytest.fixture
def connect(tmp_path: Path) -> Connect:
    return partial(open_log, str(tmp_path / "events.db"))


class TestOnTheEmbeddedLog(GatewayContract):
    pass
