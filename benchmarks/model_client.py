"""`python -m benchmarks model-client`."""

import asyncio
import json
import subprocess
import sys
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Sequence
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path
from statistics import fmean
from typing import Any

import aiohttp
import click
import uvloop
from rich.console import RenderableType

from benchmarks import machine
from benchmarks.command import AS_JSON, Tell, rounds_option, show, spread, status_line, table
from benchmarks.figures import judged, merged
from soliloquy.runtime.failure import Failure
from soliloquy.runtime.model.agreements import agreement_with
from soliloquy.runtime.model.dialects import dialect_of
from soliloquy.runtime.model.keys import Key
from soliloquy.runtime.model.negotiation import Attempt
from soliloquy.runtime.model.openai_client import OpenAIClient
from soliloquy.runtime.model.openai_format import body_of
from soliloquy.runtime.model.remote import RemoteModel
from soliloquy.runtime.model.settings import Endpoint
from soliloquy.v1.model_pb2 import GenerateRequest, Message, Sampling

TARGETS = Path(__file__).with_suffix(".toml")
LATENCY = "1s"
# Seconds before a storm, and after it.
CALM_SECONDS = 15.0
IN_FLIGHT = 256
# A machine that slows down favours neither client.
TURNS = 4
# As long as a run's prompts in the middle of a conversation.
PROMPT_CHARACTERS = 6_000
# The rate is measured over windows of this length while it recovers.
WINDOW_SECONDS = 2.0
# The share of the usual rate at which it has recovered.
RECOVERED = 0.9
_SCHEMA = json.dumps(
    {
        "type": "object",
        "properties": {"thoughts": {"type": "string"}, "step": {"type": "string", "pattern": r"^\d+$"}},
        "required": ["thoughts", "step"],
    }
)

Call = Callable[[int], Awaitable[object]]


@click.command()
@click.option(
    "--calls", default=5_000, show_default=True, type=click.IntRange(min=IN_FLIGHT), help="Calls of each client."
)
@click.option(
    "--storm", "storm_seconds", default=30.0, show_default=True, type=click.FloatRange(min=1), help="Seconds of 429s."
)
@rounds_option(1)
@AS_JSON
def model_client(*, calls: int, storm_seconds: float, rounds: int, as_json: bool) -> None:
    """Measure the client of hosted models.

    A fake model answers after a second. With 256 calls at once, reports the CPU time of a call, compared with bare
    aiohttp. Then every second call is refused with a 429 for some time.
    """
    with status_line() as tell:
        figures = measure(calls=calls, storm_seconds=storm_seconds, rounds=rounds, tell=tell)
    show(figures, tables, as_json=as_json)


def measure(*, calls: int, storm_seconds: float, rounds: int, tell: Tell) -> dict[str, Any]:
    facts, measured = machine.facts(), []
    for number in range(rounds):
        tell(f"round {number + 1} of {rounds}: overhead")
        with _fake() as (url, _):
            found: dict[str, Any] = {"overhead": uvloop.run(overhead(url, calls=calls))}
        tell(f"round {number + 1} of {rounds}: storm")
        calm = min(CALM_SECONDS, 2 * storm_seconds)
        period = calm + storm_seconds
        options = ("--fault=throttled=0.5", "--period", f"{period:g}s", "--storm", f"{storm_seconds:g}s")
        with _fake(*options) as (url, began):
            times = {"began": began + calm, "ended": began + period, "after": calm}
            found["storm"] = uvloop.run(storm(url, **times))
        measured.append(found)
    figures = {"machine": facts, "rounds": rounds, **merged(measured)}
    return figures | {"targets": judged(figures, TARGETS)}


@contextmanager
def _fake(*options: str) -> Iterator[tuple[str, float]]:
    """Runs a fake model in a process of its own; yields its URL and when its clock began."""
    command = [sys.executable, "-m", "benchmarks.endpoint", "--latency", LATENCY, *options]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as fake:
        try:
            assert fake.stderr
            line = fake.stderr.readline()
            if "--base-url" not in line:
                raise Failure(f"the fake model did not start: {line.strip()}")
            yield line.split()[-1], time.monotonic()
        finally:
            fake.terminate()


async def overhead(base_url: str, *, calls: int) -> dict[str, dict[str, float]]:
    """Returns what a call costs our client, and bare aiohttp that sends and reads the same, in turns."""
    turns: list[dict[str, dict[str, float]]] = []
    async with _ours(base_url) as ours, _bare(base_url) as bare:
        for call in (ours, bare):
            # The first calls open the connections.
            await _at_once(call, IN_FLIGHT)
        for number in range(TURNS):
            names = (("ours", ours), ("bare", bare))
            turns.append({name: await _measured(call, calls // TURNS) for name, call in names[:: (-1) ** number]})
    found = {name: {of: fmean(turn[name][of] for turn in turns) for of in turns[0][name]} for name in ("ours", "bare")}
    return found | {"of_bare": {of: found["ours"][of] / found["bare"][of] for of in found["ours"]}}


async def storm(base_url: str, *, began: float, ended: float, after: float) -> dict[str, float]:
    """Calls without a pause until some time after a storm; `began` and `ended` are moments of the monotonic clock."""
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
    # The first moments are left out, since they open the connections.
    calm = (entered + began) / 2
    usual = _rate(answered, calm, began)
    return {
        "lost": lost,
        "calls": len(answered),
        "calls_per_second_before": usual,
        "calls_per_second_during": _rate(answered, began, ended),
        "recovery_seconds": _recovery(answered, ended, after, RECOVERED * usual),
    }


def _recovery(answered: Sequence[float], ended: float, after: float, wanted: float) -> float:
    """Returns the seconds from the end of the storm to the end of the first window with the wanted rate."""
    step, start = WINDOW_SECONDS / 10, ended
    while start + WINDOW_SECONDS <= ended + after:
        if _rate(answered, start, start + WINDOW_SECONDS) >= wanted:
            return start + WINDOW_SECONDS - ended
        start += step
    # The rate did not recover in the time that was measured.
    return after


def _rate(moments: Sequence[float], start: float, end: float) -> float:
    return sum(start <= moment < end for moment in moments) / (end - start)


@asynccontextmanager
async def _ours(base_url: str) -> AsyncIterator[Call]:
    endpoint = Endpoint(engine="openai", base_url=base_url, max_concurrency=IN_FLIGHT)
    model = RemoteModel("bench", endpoint, OpenAIClient("bench", endpoint, Key("", "")))
    try:
        yield lambda number: model.generate(_request(number))
    finally:
        await model.close()


@asynccontextmanager
async def _bare(base_url: str) -> AsyncIterator[Call]:
    async with aiohttp.ClientSession(
        connector=aiohttp.TCPConnector(limit=0), timeout=aiohttp.ClientTimeout()
    ) as session:
        agreement = agreement_with(base_url, "default", dialect_of("", base_url, "default"), "json_schema")

        async def call(number: int) -> object:
            request = _request(number)
            attempt = Attempt(agreement, request)
            body = json.dumps(body_of(request, "default", attempt), ensure_ascii=False).encode()
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


def tables(figures: dict[str, Any]) -> Iterator[RenderableType]:
    costs = table("256 calls at once", "CPU ms a call", "calls/s")
    for name, found in figures["overhead"].items():
        costs.add_row(name.replace("_", " "), spread(found["cpu_ms_a_call"]), spread(found["calls_per_second"]))
    yield costs
    storm_figures = table("every second call refused", "")
    for name, measured in figures["storm"].items():
        storm_figures.add_row(name.replace("_", " "), spread(measured))
    yield storm_figures
