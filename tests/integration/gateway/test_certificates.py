"""Callers that show a certificate, over HTTP and gRPC; theirs says that they are "soliloquy-test-client"."""

import asyncio
import os
import ssl
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import aiohttp
import grpc
import pytest

from soliloquy.client.async_runs import AsyncRuns
from soliloquy.client.calls import ServiceUnavailable
from soliloquy.runtime.failure import Failure
from soliloquy.runtime.tls import ServerTls
from soliloquy.v1.gateway_pb2 import ListRunsRequest
from soliloquy.v1.gateway_pb2_grpc import RunServiceStub
from soliloquy_services.gateway import grpc_server
from tests.integration.gateway.site import OPERATOR, site
from tests.integration.meetings import REFUSED, Meeting, meetings_in
from tests.kafka.certificates import Authority, Certificate
from tests.unit.gateway.tokens import entry, written

STATUS = grpc.StatusCode


@pytest.fixture(scope="module")
def authority(tmp_path_factory: pytest.TempPathFactory) -> Authority:
    return Authority.founded(tmp_path_factory.mktemp("authority"))


@pytest.fixture(scope="module")
def server(authority: Authority) -> Certificate:
    return authority.sign("broker", ["IP:127.0.0.1"])


@pytest.fixture(scope="module")
def client(authority: Authority) -> Certificate:
    return authority.sign("client")


def tls_of(server: Certificate, authority: Authority) -> ServerTls:
    return ServerTls(certificate=server.certificate, key=server.key, client_ca=authority.own.certificate)


@pytest.mark.parametrize("service", ["http", "grpc"])
async def test_a_handshake_that_does_not_come_is_not_waited_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, authority: Authority, server: Certificate, service: str
) -> None:
    monkeypatch.setattr("asyncio.constants.SSL_HANDSHAKE_TIMEOUT", 0.2)
    monkeypatch.setattr(grpc_server, "HANDSHAKE_MILLISECONDS", 200)
    async with site(tmp_path, tokens=written(tmp_path), tls=tls_of(server, authority)) as at:
        host, _, port = (at.http.removeprefix("https://") if service == "http" else at.grpc).rpartition(":")
        reader, writer = await asyncio.open_connection(host, int(port))
        async with asyncio.timeout(120):
            assert await reader.read() == b""
        writer.close()


async def test_a_certificate_is_as_good_as_a_token(
    tmp_path: Path, authority: Authority, server: Certificate, client: Certificate
) -> None:
    tokens = written(tmp_path, entry("soliloquy-test-client", "reader"), entry("olga", "operator", OPERATOR))
    trusting = ssl.create_default_context(cafile=authority.own.certificate)
    own = authority.own.certificate.read_bytes()
    async with site(tmp_path, tokens=tokens, tls=tls_of(server, authority)) as at:
        with pytest.raises((aiohttp.ClientError, ConnectionError)):
            await at.session.get(f"{at.http}/v1/runs", ssl=trusting)
        trusting.load_cert_chain(client.certificate, client.key)
        async with at.session.get(f"{at.http}/v1/session", ssl=trusting) as answer:
            assert await answer.json() == {
                "name": "soliloquy-test-client",
                "role": "reader",
                "tenant": "",
                "needed": True,
                "sign_in": "",
            }
        async with at.session.post(f"{at.http}/v1/runs", json={}, ssl=trusting) as answer:
            assert answer.status == 403
        async with at.session.post(f"{at.http}/v1/session", json={"token": OPERATOR}, ssl=trusting) as answer:
            assert "secure" in answer.headers["set-cookie"].lower()
        with_one = grpc.ssl_channel_credentials(own, client.key.read_bytes(), client.certificate.read_bytes())
        assert await _listed(at.grpc, with_one) == STATUS.OK
        assert await _listed(at.grpc, grpc.ssl_channel_credentials(own)) == STATUS.UNAVAILABLE


async def test_a_name_that_is_no_entry_of_the_file_is_nobody(
    tmp_path: Path, authority: Authority, server: Certificate, client: Certificate
) -> None:
    tokens = written(tmp_path, entry("olga", "operator", OPERATOR))
    trusting = ssl.create_default_context(cafile=authority.own.certificate)
    trusting.load_cert_chain(client.certificate, client.key)
    async with site(tmp_path, tokens=tokens, tls=tls_of(server, authority)) as at:
        answer = await at.session.get(f"{at.http}/v1/runs", ssl=trusting)
        assert answer.status == 401
        assert "'soliloquy-test-client'" in (await answer.json())["error"]["message"]


@pytest.fixture(scope="module")
def meetings(tmp_path_factory: pytest.TempPathFactory) -> Mapping[str, Meeting]:
    return meetings_in(tmp_path_factory.mktemp("meetings"))


@pytest.mark.parametrize("kind", ["good", *REFUSED])
async def test_on_both_ports_a_certificate_that_does_not_fit_is_refused_in_one_line(
    tmp_path: Path, meetings: Mapping[str, Meeting], kind: str
) -> None:
    one = meetings[kind]
    trusting = ssl.create_default_context(cafile=one.server_ca.own.certificate)
    if one.client:
        trusting.load_cert_chain(one.client.certificate, one.client.key)
    tokens = written(tmp_path, entry("soliloquy-test-client", "reader"))
    refusals = []
    async with site(tmp_path, tokens=tokens, tls=one.server_tls) as at:
        try:
            async with at.session.get(f"{at.http}/v1/runs", ssl=trusting) as answer:
                assert answer.status == 200
        except (aiohttp.ClientError, ConnectionError) as error:
            refusals.append(str(error) or repr(error))
        try:
            async with AsyncRuns(at.grpc, tls=one.tls, deadline_seconds=30.0 if kind == "good" else 2.0) as runs:
                assert [run async for run in runs.list()] == []
        except ServiceUnavailable as error:
            refusals.append(str(error))
    assert len(refusals) == (0 if kind == "good" else 2)
    assert not [line for line in refusals if "\n" in line]


async def test_files_that_make_no_tls_are_named(tmp_path: Path, server: Certificate) -> None:
    missing, pipe = tmp_path / "none.pem", tmp_path / "pipe.pem"
    os.mkfifo(pipe)
    for tls in (
        ServerTls(certificate=missing, key=server.key),
        ServerTls(certificate=server.certificate, key=server.certificate),
        ServerTls(certificate=server.certificate, key=server.key, client_ca=missing),
        ServerTls(certificate=server.certificate, key=pipe),
    ):
        with pytest.raises(Failure, match=r"TLS cannot use .*\.pem"):
            tls.for_http()


async def _listed(address: str, credentials: grpc.ChannelCredentials) -> grpc.StatusCode:
    async with grpc.aio.secure_channel(address, credentials) as channel:
        stub: Any = RunServiceStub(channel)
        try:
            await stub.ListRuns(ListRunsRequest(), timeout=60)
        except grpc.aio.AioRpcError as error:
            return error.code()
    return STATUS.OK
