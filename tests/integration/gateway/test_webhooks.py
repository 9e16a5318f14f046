"""The operator's webhooks hear of the end of each run at least once, and nothing else waits for them."""

import json
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from aiohttp import web

from soliloquy.v1.gateway_pb2 import CancelRunRequest
from soliloquy.v1.runs_pb2 import RunState
from soliloquy_services.gateway import webhooks
from soliloquy_services.gateway.service import Gateway
from soliloquy_services.gateway.settings import GatewaySettings, WebhookSettings
from soliloquy_services.gateway.webhooks import signature
from tests.integration.gateway.contract import last_of
from tests.integration.gateway.support import Collecting, asked, growing, opened
from tests.integration.transport.support import Connect
from tests.waiting import until

SECRET = "between us"
NOBODY = "http://127.0.0.1:9/hook"


@dataclass(kw_only=True)
class Endpoint:
    """Answers with these statuses, then with 204."""

    statuses: list[int] = field(default_factory=list)
    url: str = ""
    # The path, headers and body of each message.
    messages: list[tuple[str, dict[str, str], str]] = field(default_factory=list)

    async def answer(self, request: web.Request) -> web.Response:
        headers = {name.lower(): value for name, value in request.headers.items()}
        self.messages.append((request.path, headers, await request.text()))
        status = self.statuses.pop(0) if self.statuses else 204
        return web.Response(status=status, headers={"location": "/elsewhere"})

    @property
    def runs(self) -> list[str]:
        return [json.loads(body)["data"]["run"] for _, _, body in self.messages]


@asynccontextmanager
async def listening(*statuses: int) -> AsyncIterator[Endpoint]:
    endpoint = Endpoint(statuses=list(statuses))
    application = web.Application()
    application.router.add_route("*", "/{path:.*}", endpoint.answer)
    runner = web.AppRunner(application)
    await runner.setup()
    try:
        site = web.TCPSite(runner, "127.0.0.1", 0)
        await site.start()
        host, port = runner.addresses[0][:2]
        endpoint.url = f"http://{host}:{port}/hook"
        yield endpoint
    finally:
        await runner.cleanup()


@pytest.fixture(autouse=True)
def _quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(webhooks, "LOOK_SECONDS", 0.02)
    monkeypatch.setattr(webhooks, "FIRST_PAUSE_SECONDS", 0.02)


@pytest.fixture
def told(tmp_path: Path) -> Callable[..., GatewaySettings]:
    def settings(*urls: str) -> GatewaySettings:
        hooks = WebhookSettings(urls=urls, secret=SECRET)
        return GatewaySettings(database=f"sqlite:///{tmp_path}/gateway.sqlite", webhooks=hooks)

    return settings


async def test_the_end_of_a_run_is_told_signed_and_again_until_it_is_taken(
    connect: Connect, told: Callable[..., GatewaySettings]
) -> None:
    async with (
        listening(500, 302, 429) as endpoint,
        connect() as transport,
        growing(transport, Collecting()),
        opened(transport, told(NOBODY, endpoint.url)) as gateway,
    ):
        run = await gateway.start_run(asked(conversations=2))
        # The endpoint that is dead disturbs neither the run nor the other one.
        assert (await last_of(gateway, run.id)).state == RunState.RUN_STATE_FINISHED
        await until(lambda: len(endpoint.messages) == 4)
        assert {path for path, _, _ in endpoint.messages} == {"/hook"}
        [(message_id, body)] = {(headers["webhook-id"], body) for _, headers, body in endpoint.messages}
        for _, headers, _ in endpoint.messages:
            at = int(headers["webhook-timestamp"])
            assert headers["webhook-signature"] == signature(SECRET.encode(), message_id, at, body)
            assert SECRET not in str(headers)
        message = json.loads(body)
        assert message["type"] == "run.finished"
        assert message["data"].items() >= {"run": run.id, "accepted": 2, "state": "finished"}.items()


async def test_what_a_gateway_owed_when_it_was_killed_the_next_one_sends(
    connect: Connect, told: Callable[..., GatewaySettings]
) -> None:
    async with listening() as endpoint, connect() as transport, growing(transport, Collecting()):
        # It ends before it has sent anything.
        async with opened(transport, told(endpoint.url, NOBODY)) as gateway:
            gateway._steering._webhooks._outbox.due = list  # type: ignore[method-assign]
            run = await gateway.start_run(asked(conversations=2))
            await gateway.cancel_run(CancelRunRequest(run=run.id))
        assert not endpoint.messages
        async with opened(transport, told(endpoint.url)) as gateway:
            await until(lambda: endpoint.runs == [run.id])
            assert json.loads(endpoint.messages[0][2])["type"] == "run.cancelled"
            # One that is no webhook any more is owed nothing.
            await until(lambda: owed(gateway) == 0)


async def test_a_webhook_that_takes_nothing_for_a_day_is_given_up_and_a_new_database_tells_nothing_again(
    connect: Connect, told: Callable[..., GatewaySettings], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with listening(500, 500) as endpoint, connect() as transport, growing(transport, Collecting()):
        async with opened(transport, told(endpoint.url)) as gateway:
            run = await gateway.start_run(asked(conversations=1))
            await until(lambda: endpoint.runs[:1] == [run.id])
            monkeypatch.setattr(webhooks, "GIVEN_UP_SECONDS", 0.0)
            await until(lambda: owed(gateway) == 0)
        count = len(endpoint.messages)
        (tmp_path / "gateway.sqlite").unlink()
        async with opened(transport, told(endpoint.url)) as gateway:
            assert (await last_of(gateway, run.id)).state == RunState.RUN_STATE_FINISHED
            assert owed(gateway) == 0
        assert len(endpoint.messages) == count


def owed(gateway: Gateway) -> int:
    database = gateway._store.database
    with database.reading() as connection:
        return len(connection.execute(database["webhooks"].select()).all())
