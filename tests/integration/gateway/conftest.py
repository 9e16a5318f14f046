from collections.abc import AsyncIterator, Iterator
from functools import partial
from pathlib import Path

import pytest

from soliloquy_services.gateway.settings import GatewaySettings
from tests.integration.gateway.served import served
from tests.integration.gateway.site import Site, guarded, site
from tests.integration.gateway.support import Collecting, growing
from tests.integration.transport.embedded import connect as open_log
from tests.integration.transport.support import Connect
from tests.lakehouse.postgres import Postgres


@pytest.fixture
def connect(tmp_path: Path) -> Connect:
    return partial(open_log, str(tmp_path / "events.db"))


@pytest.fixture
def collecting() -> Collecting:
    return Collecting()


@pytest.fixture
async def open_site(tmp_path: Path) -> AsyncIterator[Site]:
    """A gateway that admits every caller of this machine."""
    async with site(tmp_path) as opened:
        yield opened


@pytest.fixture
async def guarded_site(tmp_path: Path) -> AsyncIterator[Site]:
    """A gateway that asks for the tokens of a reader and an operator."""
    async with site(tmp_path, admitting=guarded(tmp_path)) as opened:
        yield opened


@pytest.fixture
async def address(connect: Connect, collecting: Collecting) -> AsyncIterator[str]:
    async with connect() as transport, growing(transport, collecting), served(transport) as address:
        yield address


@pytest.fixture(scope="module")
def postgres() -> Iterator[Postgres]:
    with Postgres() as server:
        yield server


@pytest.fixture(params=["sqlite", "postgresql"])
def settings(request: pytest.FixtureRequest, tmp_path: Path) -> GatewaySettings:
    """Settings with a database, once of each kind."""
    if request.param == "postgresql":
        return GatewaySettings(database=request.getfixturevalue("postgres").database())
    return GatewaySettings(database=f"sqlite:///{tmp_path}/gateway/state.db")
