"""What asking a hosted model costs, and how callers come through a storm of refusals."""

import asyncio
import json
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager

import aiohttp

from soliloquy.runtime.model.key import Key
from soliloquy.runtime.model.openai_line import OpenAILine, body_of
from soliloquy.runtime.model.remote import RemoteModel
from soliloquy.runtime.model.settings import Endpoint
from soliloquy.v1.model_pb2 import GenerateRequest, Message, Sampling

IN_FLIGHT = 256
# Of a run's prompts in the middle of a conversation.
PROMPT_CHARACTERS = 6_000
_SCHEMA = json.dumps(
    {
        "type": "object",
        "properties": {"thoughts": {"type": "string"}, "step": {"type": "string", "pattern": r"^\d+$"}},
        "required": ["thoughts", "step"],
    }
)
# In which a rate is measured while it comes back.
WINDOW_SECONDS = 2.0
BACK = 0.9

Call = Callable[[int], Awaitable[object]]


async def overhead(base_url: str, *, calls: int) -> dict[str, dict[str, float]]:
    """CPU that this process spends on a call, ours beside bare aiohttp that sends and reads the same."""
    measured = {}
    async with _ours(base_url) as ours, _bare(base_url) as bare:
        for name, call in (("ours", ours), ("bare", bare)):
            # Connections are made first.
            await _at_once(call, IN_FLIGHT)
            measured[name] = await _measured(call, calls)
    return measured


async def storm(base_url: str, *, began: float, ended: float, after: float) -> dict[str, float]:
    """Callers that never rest, until some time after a storm that begins and ends at moments of the monotonic clock."""
    answered: list[float] = []
    lost = 0
    entered = time.monotonic()

    async def keep_asking(model: Call, caller: int) -> None:
        nonlocal lost
        for number in range(caller, 2**31, IN_FLIGHT):
            if time.monotonic() >= ended + after:
                return
            try:
                await model(number)
            except Exception:
                lost += 1
            else:
                answered.append(time.monotonic())

    async with _ours(base_url) as ours, asyncio.TaskGroup() as callers:
        for caller in range(IN_FLIGHT):
            callers.create_task(keep_asking(ours, caller))
    # Not the first moments, in which connections are made.
    calm = (entered + began) / 2
    usual = _rate(answered, calm, began)
    return {
        "lost": lost,
        "calls": len(answered),
        "calls_per_second_before": usual,
        "calls_per_second_during": _rate(answered, began, ended),
        "recovery_seconds": _recovery(answered, ended, after, BACK * usual),
    }


def _recovery(answered: Sequence[float], ended: float, after: float, wanted: float) -> float:
    """Seconds from the end of the storm to that of the first window with the wanted rate."""
    step, start = WINDOW_SECONDS / 10, ended
    while start + WINDOW_SECONDS <= ended + after:
        if _rate(answered, start, start + WINDOW_SECONDS) >= wanted:
            return start + WINDOW_SECONDS - ended
        start += step
    # It did not come back: no less than all that was looked at.
    return after


def _rate(moments: Sequence[float], start: float, end: float) -> float:
    return sum(start <= moment < end for moment in moments) / (end - start)


@asynccontextmanager
async def _ours(base_url: str) -> AsyncIterator[Call]:
    endpoint = Endpoint(engine="openai", base_url=base_url, max_concurrency=IN_FLIGHT)
    model = RemoteModel("bench", endpoint, OpenAILine("bench", endpoint, Key("", "")))
    try:
        yield lambda number: model.generate(_request(number))
    finally:
        await model.close()


@asynccontextmanager
async def _bare(base_url: str) -> AsyncIterator[Call]:
    async with aiohttp.ClientSession(connector=aiohttp.TCPConnector(limit=0)) as session:

        async def call(number: int) -> object:
            body = body_of(_request(number), "default", "json_schema")
            headers = {"Content-Type": "application/json"}
            async with session.post(f"{base_url}/chat/completions", data=body, headers=headers) as response:
                return json.loads(await response.read())["choices"][0]["message"]["content"]

        yield call


async def _measured(call: Call, calls: int) -> dict[str, float]:
    began, cpu = time.monotonic(), time.process_time()
    await _at_once(call, calls)
    return {
        "cpu_ms_a_call": 1000 * (time.process_time() - cpu) / calls,
        "calls_per_second": calls / (time.monotonic() - began),
    }


async def _at_once(call: Call, calls: int) -> None:
    numbers = iter(range(calls))

    async def keep_asking() -> None:
        for number in numbers:
            await call(number)

    async with asyncio.TaskGroup() as callers:
        for _ in range(IN_FLIGHT):
            callers.create_task(keep_asking())


def _request(number: int) -> GenerateRequest:
    return GenerateRequest(
        role="tutor",
        messages=[
            Message(role="system", text="You are a tutor. " * (PROMPT_CHARACTERS // 17)),
            Message(role="user", text=f"Reply number {number}."),
        ],
        schema=_SCHEMA,
        sampling=Sampling(temperature=0.2, top_p=1.0, max_tokens=600),
        seed=number,
    )
