"""The client and the commands show tokens and certificates, and say what their role may not do."""

import asyncio
from pathlib import Path

import pytest

from soliloquy.client import AsyncRuns, PermissionDenied, ServiceUnavailable, Tls
from soliloquy.runtime.tls import ServerTls
from soliloquy_services.gateway.access.access import Access
from soliloquy_services.gateway.access.tokens import TokenFile
from tests.integration.gateway.served import ARITHMETIC, command, served
from tests.integration.transport.support import Connect
from tests.kafka.certificates import Authority
from tests.unit.gateway.tokens import OPERATOR, READER, entry, written


async def test_a_token_opens_what_its_role_may_do(connect: Connect, tmp_path: Path) -> None:
    access = Access(TokenFile(written(tmp_path)))
    async with connect() as transport, served(transport, access=access) as address:
        async with AsyncRuns(address) as stranger, AsyncRuns(address, token=READER) as reader:
            with pytest.raises(PermissionDenied, match="a token is required"):
                await anext(stranger.list())
            assert [status async for status in reader.list()] == []
            with pytest.raises(PermissionDenied, match="StartRun requires the role operator"):
                await reader.start(**ARITHMETIC)
        async with AsyncRuns(address, token=OPERATOR) as operator:
            assert (await operator.start(**ARITHMETIC)).requested_by == "olga"


async def test_a_certificate_does_for_a_token(connect: Connect, tmp_path: Path) -> None:
    authority = Authority.founded(tmp_path / "certificates")
    own = authority.sign("broker", ["IP:127.0.0.1"])
    caller = authority.sign("client")
    shown = ServerTls(certificate=own.certificate, key=own.key, client_ca=authority.own.certificate)
    access = Access(TokenFile(written(tmp_path, entry("soliloquy-test-client", "operator"))))
    tls = Tls(ca=authority.own.certificate, certificate=caller.certificate, key=caller.key)
    async with connect() as transport, served(transport, access=access, credentials=shown.for_grpc()) as address:
        async with AsyncRuns(address, tls=tls) as runs:
            assert (await runs.start(**ARITHMETIC)).requested_by == "soliloquy-test-client"
        files = {"CA_FILE": tls.ca, "CERTIFICATE_FILE": tls.certificate, "KEY_FILE": tls.key}
        environment = {f"SOLILOQUY_{name}": str(file) for name, file in files.items()}
        listed = await asyncio.to_thread(command, "list", "--gateway", address, **environment)
        assert "by soliloquy" in listed.stdout
        async with AsyncRuns(address, tls=Tls(ca=tls.ca), deadline_seconds=2.0) as stranger:
            with pytest.raises(ServiceUnavailable, match="no answer from the gateway"):
                await anext(stranger.list())


async def test_a_token_file_is_read_and_an_empty_one_refused(connect: Connect, tmp_path: Path) -> None:
    access = Access(TokenFile(written(tmp_path)))
    token, empty = tmp_path / "token", tmp_path / "empty"
    token.write_text(f"{READER}\n", "utf-8")
    empty.write_text("\n", "utf-8")
    async with connect() as transport, served(transport, access=access) as address:
        opened, refused, denied = [
            await asyncio.to_thread(command, *words, "--gateway", address)
            for words in (
                ("list", "--token-file", str(token)),
                ("list", "--token-file", str(empty)),
                ("pause", "no-such", "--token-file", str(token)),
            )
        ]
    assert (opened.exit_code, opened.stdout) == (0, "no runs\n")
    assert refused.stderr == f"soliloquy: {empty} holds no token: put it on a line of its own\n"
    assert (denied.exit_code, denied.stderr) == (
        2,
        "soliloquy: PauseRun requires the role operator; rita has the role reader\n",
    )
