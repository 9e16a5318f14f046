"""A whole gateway on this machine, as people and programs reach it: over HTTP and gRPC, with the log embedded."""

import asyncio
from collections.abc import AsyncIterator, Iterable, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import aiohttp

from soliloquy_services.gateway.access.access import Access
from soliloquy_services.gateway.access.rates import RateLimit
from soliloquy_services.gateway.access.tokens import TokenFile
from soliloquy_services.gateway.app import access, answering
from soliloquy_services.gateway.http.routes import HttpRoute
from soliloquy_services.gateway.service import Gateway
from soliloquy_services.gateway.settings import GatewaySettings
from tests.integration.gateway.support import Collecting, growing, opened
from tests.integration.transport.embedded import connect
from tests.unit.gateway.tokens import OPERATOR, READER, written

ROOMY = RateLimit(burst=10_000, per_second=10_000)
START = {"recipe": "soliloquy", "problems": "arithmetic", "conversations": 3}


@dataclass(frozen=True, kw_only=True, slots=True)
class Answer:
    status: int
    headers: Mapping[str, str]
    body: Any

    @property
    def code(self) -> str:
        return str(self.body["error"]["code"])

    @property
    def message(self) -> str:
        return str(self.body["error"]["message"])


@dataclass(frozen=True, kw_only=True, slots=True)
class Site:
    gateway: Gateway
    http: str
    grpc: str
    collecting: Collecting
    session: aiohttp.ClientSession

    async def ask(
        self, method: str, path: str, body: Any = None, *, token: str = "", headers: Mapping[str, str] | None = None
    ) -> Answer:
        given = {**({"authorization": f"Bearer {token}"} if token else {}), **(headers or {})}
        sent = {"data": body} if isinstance(body, bytes) else {"json": body} if body is not None else {}
        async with self.session.request(method, f"{self.http}{path}", headers=given, **sent) as answer:
            json = answer.content_type == "application/json"
            content = await answer.json() if json else await answer.read()
            return Answer(status=answer.status, headers=answer.headers, body=content)

    async def start(self, request_id: str = "one", **settings: Any) -> str:
        """The id of a run, as an operator starts it."""
        body = {"request_id": request_id, "request": START | settings}
        answer = await self.ask("POST", "/v1/runs", body, token=OPERATOR)
        assert answer.status == 201, answer.body
        return str(answer.body["id"])


def guarded(folder: Path, **limits: RateLimit) -> Access:
    """Asks for the tokens of a reader and an operator, and is patient unless it is told otherwise."""
    chosen = {"calls": ROOMY, "steering": ROOMY, "strangers": ROOMY, "visitors": ROOMY} | limits
    return Access(TokenFile(written(folder)), limits=chosen)


@asynccontextmanager
async def site(
    folder: Path, *, admitting: Access | None = None, own: Iterable[HttpRoute] = (), **settings: Any
) -> AsyncIterator[Site]:
    chosen = GatewaySettings(**settings)
    collecting = Collecting()
    async with AsyncExitStack() as stack:
        transport = await stack.enter_async_context(connect(str(folder / "events.db")))
        await stack.enter_async_context(growing(transport, collecting))
        gateway = await stack.enter_async_context(opened(transport))
        answers = answering(gateway, chosen, admitting or access(chosen), own)
        http, grpc = (told.rpartition(" ")[2] for told in await stack.enter_async_context(answers))
        session = await stack.enter_async_context(aiohttp.ClientSession())
        scheme = "https" if chosen.tls else "http"
        yield Site(gateway=gateway, http=f"{scheme}://{http}", grpc=grpc, collecting=collecting, session=session)


async def connected(at: Site) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
    host, port = at.http.removeprefix("http://").split(":")
    return await asyncio.open_connection(host, int(port))


def head(method: str, path: str, *headers: str) -> bytes:
    """The head of a raw request, which a client would normalise."""
    return "\r\n".join((f"{method} {path} HTTP/1.1", "host: localhost", *headers, "", "")).encode()


async def told(at: Site, sent: bytes) -> bytes:
    """All that is answered to what is sent as it stands, until the gateway closes the connection."""
    reader, writer = await connected(at)
    writer.write(sent)
    answer = await reader.read()
    writer.close()
    return answer


__all__ = ["OPERATOR", "READER", "ROOMY", "START", "Answer", "Site", "connected", "guarded", "head", "site", "told"]
