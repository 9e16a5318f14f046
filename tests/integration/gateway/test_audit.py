"""Audited calls: where they are written, who reads them, and what becomes of them while nothing can be written."""

import asyncio
import time
from collections.abc import Sequence
from pathlib import Path

import pytest
from prometheus_client import REGISTRY

from soliloquy.runtime.events import Event, message_of
from soliloquy.runtime.transports.port import Transport, Unanswered
from soliloquy.v1.events_pb2 import CallAudited
from soliloquy_services.gateway.access.access import Access
from soliloquy_services.gateway.access.tokens import TokenFile
from soliloquy_services.gateway.audit import Audit
from tests.integration.gateway.provider import LIMITS
from tests.integration.gateway.served import command
from tests.integration.gateway.site import Site, site
from tests.integration.gateway.support import audited
from tests.integration.transport.support import Connect, held
from tests.unit.gateway.tokens import OPERATOR, READER, entry, written
from tests.waiting import until

PHYSICS, CHEMISTRY = "of physics", "of chemistry"


def guarded(folder: Path) -> Access:
    tenants = {"amy": ("physics", PHYSICS), "ben": ("chemistry", CHEMISTRY)}
    entries = [f'{entry(name, "operator", token)}tenant = "{tenant}"\n' for name, (tenant, token) in tenants.items()]
    usual = (entry("olga", "operator", OPERATOR), entry("rita", "reader", READER))
    return Access(TokenFile(written(folder, *usual, *entries)), limits=LIMITS)


async def shown(at: Site, token: str, path: str = "/v1/audit") -> list[tuple[str, str, str, str]]:
    answer = await at.ask("GET", path, token=token)
    assert answer.status == 200, answer.body
    return [(call["who"], call["what"], call["target"], call["outcome"]) for call in answer.body["calls"]]


async def test_operators_read_who_did_what_and_a_tenants_only_its_own(tmp_path: Path) -> None:
    async with site(tmp_path, admitting=guarded(tmp_path)) as at:
        await at.ask("POST", "/v1/runs/none/cancel", token=PHYSICS)
        await at.ask("POST", "/v1/runs/none/pause", token=CHEMISTRY)
        await at.ask("POST", "/v1/runs/none/cancel", token=READER)
        await at.ask("GET", "/v1/runs", token="guess")
        await at.ask("GET", "/v1/runs", token=READER)

        async def are_shown() -> bool:
            return len(await shown(at, OPERATOR)) == 4

        await until(are_shown)
        assert await shown(at, OPERATOR) == [
            ("127.0.0.1", "ListRuns", "", "unauthenticated"),
            ("rita", "CancelRun", "none", "denied"),
            ("ben", "PauseRun", "none", "unknown"),
            ("amy", "CancelRun", "none", "unknown"),
        ]
        assert await shown(at, PHYSICS) == [("amy", "CancelRun", "none", "unknown")]
        assert (await at.ask("GET", "/v1/audit", token=READER)).code == "denied"
        first = await at.ask("GET", "/v1/audit?page_size=3", token=OPERATOR)
        # The reader's attempt is there by now.
        rest = await shown(at, OPERATOR, f"/v1/audit?page_size=3&page_token={first.body['next_page_token']}")
        assert rest[-1] == ("amy", "CancelRun", "none", "unknown")
        told = await asyncio.to_thread(command, "audit", "--gateway", at.grpc, "--limit", "9", SOLILOQUY_TOKEN=PHYSICS)
        assert [line.split("  ")[1:] for line in told.stdout.splitlines()] == [
            ["amy of physics", "CancelRun none", "unknown"]
        ]


class Away:
    """Answers no call to publish until it is back."""

    def __init__(self, transport: Transport) -> None:
        self._transport = transport
        self.back = asyncio.Event()

    async def publish(self, events: Sequence[Event]) -> None:
        if not self.back.is_set():
            raise Unanswered("the broker is away")
        await self._transport.publish(events)


def dropped() -> float:
    return REGISTRY.get_sample_value("soliloquy_gateway_audit_dropped_total") or 0.0


async def test_while_nothing_can_be_written_no_call_waits_and_what_is_dropped_is_said(
    connect: Connect, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr("soliloquy_services.gateway.audit.MOST_WAITING", 3)
    before = dropped()
    async with connect() as transport:
        away = Away(transport)
        audit = Audit(away)  # type: ignore[arg-type]
        writing = asyncio.create_task(audit.write_always())
        began = time.monotonic()
        for number in range(5):
            audit.add(audited(number))
            await asyncio.sleep(0)
        assert time.monotonic() - began < 1.0
        assert dropped() - before == 2
        assert caplog.messages == ["call.audited cannot be written: audited calls are in the log alone until it can"]
        away.back.set()
        await until(lambda: len(caplog.messages) == 2)
        kept = [message_of(one.event) for one in await held(transport, "call.audited")]
        writing.cancel()
    assert sorted(call.who for call in kept if isinstance(call, CallAudited)) == ["caller 0", "caller 1", "caller 2"]
    assert caplog.messages[1] == "2 audited calls were not written to call.audited: they are in the log alone"
