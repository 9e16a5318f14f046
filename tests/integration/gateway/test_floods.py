"""An operator with a token is served beside a flood of connections without one, on either port."""

import logging
import time
from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest

from soliloquy_services.gateway.access import connections
from soliloquy_services.gateway.access.connections import CLOSED, ConnectionLimits
from tests.integration.gateway.floods import FLOODS, flooded, list_over_grpc, list_over_http
from tests.integration.gateway.site import guarded, site
from tests.waiting import until

pytestmark = pytest.mark.thorough

FLOOD = 150
LIMITS = ConnectionLimits(total=400, grpc=300, strangers=100)
MOST_SECONDS = 60.0


def closed(service: str) -> float:
    reasons = ("late", "strangers", "total")
    return float(sum(CLOSED.labels(service, reason)._value.get() for reason in reasons))


@pytest.mark.parametrize("kind", FLOODS)
async def test_an_operator_is_served_at_once_beside_a_flood(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture, kind: str
) -> None:
    monkeypatch.setattr(connections, "usual_limits", lambda: LIMITS)
    service = kind.split()[0]
    async with site(tmp_path, admitting=guarded(tmp_path)) as at:
        before = closed(service)
        address = at.http.removeprefix("http://") if service == "http" else at.grpc
        async with flooded(address, kind, FLOOD):
            with caplog.at_level(logging.WARNING, connections.__name__):
                await until(lambda: closed(service) - before >= FLOOD - LIMITS.strangers)
            for _ in range(20):
                assert await seconds(list_over_http, at.http) < MOST_SECONDS
                assert await seconds(list_over_grpc, at.grpc) < MOST_SECONDS
    assert any(f"from 127.0.0.1 to {service}" in line for line in caplog.messages)


async def seconds(call: Callable[[str], Awaitable[None]], address: str) -> float:
    began = time.monotonic()
    await call(address)
    return time.monotonic() - began
