"""Clients that log in with a token: from a file, or from an authority by their credentials."""

import asyncio
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from soliloquy.runtime.transports.kafka import KafkaSettings
from soliloquy.runtime.transports.kafka.layout import apply
from soliloquy.runtime.transports.opening import open_transport
from tests.integration.kafka.reaching import TOPIC, refused, works
from tests.integration.transport.support import started
from tests.kafka import fixtures
from tests.kafka.cluster import KafkaCluster
from tests.kafka.tokens import TokenAuthority, TokenServer

pytestmark = pytest.mark.thorough

LIFE_SECONDS = 4.0


@pytest.fixture(scope="module")
def authority(tmp_path_factory: pytest.TempPathFactory) -> TokenAuthority:
    return TokenAuthority.founded(tmp_path_factory.mktemp("authority"))


@pytest.fixture(scope="module")
def bearer(tmp_path_factory: pytest.TempPathFactory, authority: TokenAuthority) -> Iterator[KafkaSettings]:
    folder = tmp_path_factory.mktemp("oauth")
    with fixtures.started(KafkaCluster(folder, security="SASL_SSL", tokens=authority)) as cluster:
        yield KafkaSettings(
            bootstrap=cluster.bootstrap, security="SASL_SSL", mechanism="OAUTHBEARER", ca_file=cluster.ca_file
        )


@pytest.fixture
def from_file(bearer: KafkaSettings, authority: TokenAuthority, tmp_path: Path) -> KafkaSettings:
    file = tmp_path / "token"
    file.write_text(authority.token() + "\n", "utf-8")
    return replace(bearer, token_file=file)


def logged_in(settings: KafkaSettings, server: TokenServer, password: str) -> KafkaSettings:
    return replace(settings, username="soliloquy", password=password, token_url=server.url, token_scope="kafka/all")


async def test_a_token_from_a_file(from_file: KafkaSettings) -> None:
    await works(from_file)


async def test_a_token_for_a_client_s_credentials(bearer: KafkaSettings, authority: TokenAuthority) -> None:
    with authority.serving("soliloquy", "s~cret", seconds=600.0) as server:
        await works(logged_in(bearer, server, "s~cret"))
        # One for all connections of a process.
        assert server.given == ["kafka/all"]


@pytest.mark.parametrize("source", ["file", "authority"])
async def test_work_goes_on_while_tokens_expire(
    bearer: KafkaSettings, authority: TokenAuthority, tmp_path: Path, source: str
) -> None:
    file = tmp_path / "token"

    async def renew() -> None:
        while True:
            file.write_text(authority.token(seconds=LIFE_SECONDS), "utf-8")
            await asyncio.sleep(LIFE_SECONDS / 4)

    with authority.serving("soliloquy", "secret", seconds=LIFE_SECONDS) as server:
        renewing = asyncio.create_task(renew())
        await asyncio.sleep(0)
        settings = replace(bearer, token_file=file) if source == "file" else logged_in(bearer, server, "secret")
        await apply(settings, replication=1)
        async with open_transport(settings) as transport:
            ends = time.monotonic() + 3 * LIFE_SECONDS
            sent: list[str] = []
            while time.monotonic() < ends:
                sent.append(f"{source}-{len(sent)}")
                await transport.publish([started(sent[-1])])
                await asyncio.sleep(0.2)
            assert {one.event.key async for one in transport.read(TOPIC)} >= set(sent)
        renewing.cancel()
        assert source == "file" or len(server.given) >= 3


async def test_a_token_that_the_brokers_do_not_take_is_said(
    from_file: KafkaSettings, authority: TokenAuthority
) -> None:
    assert from_file.token_file
    for token in (authority.token(audience="another"), authority.token(seconds=-60.0)):
        from_file.token_file.write_text(token, "utf-8")
        assert "does not take this token" in (line := await refused(from_file))
        assert token not in line


async def test_a_token_that_is_missing_is_said(
    bearer: KafkaSettings, authority: TokenAuthority, tmp_path: Path
) -> None:
    missing = tmp_path / "none"
    assert f"cannot read a token from {missing}" in await refused(replace(bearer, token_file=missing))
    (tmp_path / "two words").write_text("two words", "utf-8")
    assert "holds no token" in await refused(replace(bearer, token_file=tmp_path / "two words"))
    with authority.serving("soliloquy", "secret", seconds=60.0) as server:
        wrong = logged_in(bearer, server, "wrong")
        line = await refused(wrong)
    assert f"{server.url} gives no token: it answers 401 (invalid_client)" in line
    assert "secret" not in line
    assert "gives no token" in await refused(replace(wrong, password="other"))
