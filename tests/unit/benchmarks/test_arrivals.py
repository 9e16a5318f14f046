"""The endpoint counts what a program asks again after it was killed."""

import asyncio
from typing import Any

import aiohttp
import pytest

from benchmarks.endpoint.server import FakeEndpoint
from benchmarks.endpoint.settings import EndpointSettings
from soliloquy_services.model.fake import Fate
from tests.unit.model.hosted import ENGINE
from tests.waiting import until


async def test_repeated_requests_are_told_from_those_that_a_kill_cut_off(monkeypatch: pytest.MonkeyPatch) -> None:
    fake = FakeEndpoint(ENGINE, EndpointSettings())
    async with fake.serving("127.0.0.1:0") as url, aiohttp.ClientSession() as session:

        async def ask(text: str) -> None:
            body = {"model": "scripted", "messages": [{"role": "user", "content": text}]}
            async with session.post(f"{url}/chat/completions", json=body) as answer:
                assert answer.status == 200

        async def arrivals() -> Any:
            async with session.get(f"{url}/arrivals") as answer:
                return await answer.json()

        async def has_come() -> bool:
            return bool((await arrivals())["requests"])

        with monkeypatch.context() as hanging:
            hanging.setattr(fake, "fate", lambda: Fate.HUNG)
            cut_off = asyncio.create_task(ask("cut off"))
            await until(has_come)
            cut_off.cancel()
        for text in ("cut off", "answered twice", "answered twice", "answered once"):
            await ask(text)
        found = await arrivals()
    assert found.pop("seconds") > 0
    assert found == {"requests": 5, "different": 3, "answered": 4}
