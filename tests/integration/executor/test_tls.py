"""The sandbox service speaks TLS: who is refused in the handshake, and what the client then advises."""

import asyncio
import json
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import pytest
from click.testing import CliRunner

from soliloquy.cli.main import commands
from soliloquy.client import Sandbox, ServiceUnavailable
from soliloquy.runtime.failure import Failure
from soliloquy.runtime.tls import Tls
from soliloquy_services.executor.pool import SandboxPool
from tests.e2e.runs import SOLILOQUY, said
from tests.integration.executor.calling import served
from tests.integration.executor.support import needs_runsc
from tests.integration.meetings import REFUSED, Meeting, meetings_in

pytestmark = [needs_runsc, pytest.mark.asyncio(loop_scope="session")]

_NAME_A_CERTIFICATE = "requires a client's certificate, name one that its client authority signed"
_CHECK = "check that the server's client authority signed the client's certificate"
_ADVICE = {
    "no client certificate": _NAME_A_CERTIFICATE,
    "a client of another authority": _CHECK,
    "an expired client": _CHECK,
    "a server's certificate for a client": _CHECK,
    "a server of another authority": "name the authority that signed the server's certificate",
    "an expired server": "renew the server's certificate",
    "a server of another name": "call it by a name that its certificate has",
}

# The gateway's ports refuse each of the others in `tests/integration/gateway/test_certificates.py`.
TELLING = ("no client certificate", "an expired server")


@pytest.fixture(scope="module")
def meetings(tmp_path_factory: pytest.TempPathFactory) -> Mapping[str, Meeting]:
    return meetings_in(tmp_path_factory.mktemp("meetings"))


@pytest.fixture(scope="module")
def good(meetings: Mapping[str, Meeting]) -> Meeting:
    return meetings["good"]


async def refusal(address: str, tls: Tls | None) -> str:
    async with Sandbox(address, tls=tls, deadline_seconds=2.0) as client:
        with pytest.raises(ServiceUnavailable) as raised:
            await client.execute("x = 1")
    return str(raised.value)


async def test_who_shows_the_right_certificate_has_code_run(pool: SandboxPool, good: Meeting) -> None:
    async with served(pool, tls=good.server_tls) as address, Sandbox(address, tls=good.tls) as client:
        assert (await client.execute("x = 6 * 7", ["x"])).values == {"x": 42}


async def test_without_a_client_authority_the_servers_certificate_suffices(pool: SandboxPool, good: Meeting) -> None:
    tls = replace(good.server_tls, client_ca=None)
    async with served(pool, tls=tls) as address, Sandbox(address, tls=Tls(ca=good.tls.ca)) as client:
        assert (await client.execute("x = 6 * 7", ["x"])).values == {"x": 42}


@pytest.mark.parametrize(
    "kind", [kind if kind in TELLING else pytest.param(kind, marks=pytest.mark.thorough) for kind in REFUSED]
)
async def test_a_certificate_that_does_not_fit_is_refused_with_what_to_do(
    pool: SandboxPool, meetings: Mapping[str, Meeting], kind: str
) -> None:
    one = meetings[kind]
    async with served(pool, tls=one.server_tls) as address:
        told = await refusal(address, one.tls)
    assert told.startswith(f"no answer from the sandbox service at {address}: ")
    assert _ADVICE[kind] in told
    assert "\n" not in told


async def test_plain_text_and_tls_do_not_meet_in_either_direction(pool: SandboxPool, good: Meeting) -> None:
    async with served(pool, tls=good.server_tls) as address:
        assert "if the server speaks TLS, call it with TLS" in await refusal(address, None)
    async with served(pool) as address:
        assert "the server speaks no TLS, so call it without TLS" in await refusal(address, good.tls)


async def test_a_clients_files_that_make_no_tls_are_named(tmp_path: Path, good: Meeting) -> None:
    own, other = good.tls, good.server
    for tls in (replace(own, key=other.key), replace(own, ca=tmp_path / "none.pem"), replace(own, ca=other.key)):
        with pytest.raises(Failure, match=r"TLS cannot use .*\.pem"):
            await Sandbox("127.0.0.1:1", tls=tls).__aenter__()


def shown(tls: Tls) -> dict[str, str]:
    files = {"CA_FILE": tls.ca, "CERTIFICATE_FILE": tls.certificate, "KEY_FILE": tls.key}
    return {f"SOLILOQUY_{name}": str(file) for name, file in files.items() if file}


async def test_the_commands_take_the_certificates_of_their_options_and_of_the_environment(
    tmp_path: Path, good: Meeting
) -> None:
    file = tmp_path / "job.py"
    file.write_text("x = 6 * 7\n", "utf-8")
    own = good.server_tls
    files = ["--tls-cert", own.certificate, "--tls-key", own.key, "--client-ca", own.client_ca]
    words = ["sandbox", "serve", "--listen", "127.0.0.1:0", "--sandboxes", "1", *map(str, files)]
    service = await asyncio.create_subprocess_exec(SOLILOQUY, *words, stdout=asyncio.subprocess.PIPE)
    try:
        assert service.stdout
        async with asyncio.timeout(60):
            address = (await service.stdout.readline()).decode().removeprefix("serving on ").strip()
        words = ["sandbox", "run", str(file), "--vars", "x", "--json", "--address", address]
        done = await asyncio.to_thread(CliRunner().invoke, commands, words, env=shown(good.tls))
        assert json.loads(done.stdout)["values"] == {"x": 42}
        refused = await asyncio.to_thread(said, [SOLILOQUY, *words])
        assert "if the server speaks TLS, call it with TLS" in refused.stderr
    finally:
        service.terminate()
        await service.wait()
