"""A hostile endpoint costs bounded memory and time, and its answers count as faulty."""

import asyncio
import ssl
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from soliloquy.runtime.model.faults import EndpointRefuses, InvalidAnswer, ModelFailed, TimedOut, Unreachable
from soliloquy.runtime.model.keys import Key
from soliloquy.runtime.model.openai_client import OpenAIClient
from soliloquy.runtime.model.openai_format import MOST_STREAM_BYTES
from soliloquy.runtime.model.remote import RemoteModel
from soliloquy.runtime.model.settings import Endpoint
from soliloquy.v1.model_pb2 import GenerateRequest
from tests.kafka.certificates import Authority
from tests.unit.runtime.model.hostile import (
    BROKEN,
    CERTIFICATES,
    DRIP_SECONDS,
    DRIPS,
    ENDLESS,
    HANDSHAKES,
    KINDS,
    REDIRECTS,
    Pieces,
    context_of,
    served,
    tls,
)
from tests.unit.runtime.model.streams import KeptStreams

REQUEST = GenerateRequest(role="tutor", prompt="soliloquy/deciding")
# Sockets and the client's reader hold a few megabytes that it never sees.
BUFFERED = 16 * 1024**2


@asynccontextmanager
async def asking(
    pieces: Pieces, seconds: float = 0.0, patience: float = 60.0, **security: Any
) -> AsyncIterator[tuple[OpenAIClient, list[int], Endpoint]]:
    async with served(pieces, seconds, **security) as (url, sent):
        endpoint = Endpoint(engine="openai", base_url=url, model="large", timeout=patience)
        client = OpenAIClient("hosted", endpoint, Key("", "OPENAI_API_KEY"))
        try:
            yield client, sent, endpoint
        finally:
            await client.close()


@pytest.mark.parametrize("kind", ENDLESS)
@pytest.mark.parametrize("listening", [False, True])
async def test_an_answer_without_end_is_a_faulty_one(kind: str, *, listening: bool) -> None:
    async with asking(ENDLESS[kind]) as (client, sent, _):
        async with asyncio.timeout(60):
            with pytest.raises(InvalidAnswer):
                await client.ask(REQUEST, 5, KeptStreams() if listening else None)
        assert sum(sent) <= MOST_STREAM_BYTES + BUFFERED


@pytest.mark.parametrize("kind", BROKEN)
async def test_what_is_no_answer_is_a_faulty_one(kind: str) -> None:
    async with asking(BROKEN[kind]) as (client, _, __), asyncio.timeout(60):
        with pytest.raises((ModelFailed, InvalidAnswer)):
            await client.ask(REQUEST, 5)


@pytest.mark.parametrize("kind", REDIRECTS)
async def test_a_redirect_is_not_followed(kind: str) -> None:
    async with asking(REDIRECTS[kind]) as (client, sent, _):
        with pytest.raises(EndpointRefuses, match="serves no chat completions"):
            await client.ask(REQUEST, 5)
    # One for the list of models, and one for the call.
    assert len(sent) == 2


@pytest.mark.parametrize("kind", DRIPS)
async def test_an_answer_that_drips_ends_with_the_calls_time(kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("soliloquy.runtime.model.remote.TRIES", 1)
    async with asking(DRIPS[kind], seconds=DRIP_SECONDS, patience=0.3) as (client, sent, endpoint):
        with pytest.raises(ModelFailed) as raised:
            await RemoteModel("hosted", endpoint, client).generate(REQUEST)
    assert isinstance(raised.value.__cause__, TimedOut)
    assert len(sent) > 2


@pytest.mark.parametrize("kind", HANDSHAKES)
async def test_what_is_no_handshake_is_a_fault(kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    for limit in ("openai_http.CONNECT_SECONDS", "openai_client.LIST_SECONDS"):
        monkeypatch.setattr(f"soliloquy.runtime.model.{limit}", 0.3)
    async with asking(HANDSHAKES[kind], handshakes=True) as (client, _, __), asyncio.timeout(60):
        with pytest.raises((Unreachable, EndpointRefuses)) as raised:
            await client.ask(REQUEST, 5)
    assert not str(raised.value).endswith(": ")


@pytest.mark.parametrize("kind", CERTIFICATES)
async def test_an_endpoint_without_a_sound_certificate_is_not_asked(
    kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    context = tls(kind, tmp_path)
    _trust(tmp_path, monkeypatch)
    async with asking(KINDS[kind], tls=context) as (client, sent, _), asyncio.timeout(60):
        # A server that speaks only an old protocol ends the handshake itself.
        words = "check https and its certificate|it closed the connection"
        with pytest.raises((EndpointRefuses, Unreachable), match=words) as refused:
            await client.ask(REQUEST, 5)
    assert "\n" not in str(refused.value)
    assert not sent


async def test_an_endpoint_with_a_sound_certificate_is_asked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    certificate = Authority.founded(tmp_path).sign("broker", ["IP:127.0.0.1"])
    _trust(tmp_path, monkeypatch)
    async with asking(BROKEN["no UTF-8"], tls=context_of(certificate)) as (client, sent, _):
        with pytest.raises(InvalidAnswer):
            await client.ask(REQUEST, 5)
    assert sent


def _trust(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Lets the authority be one of the system's; aiohttp has read those when it was imported."""
    trusting = ssl.create_default_context(cafile=folder / "authority.pem")
    monkeypatch.setattr("aiohttp.connector._SSL_CONTEXT_VERIFIED", trusting)
