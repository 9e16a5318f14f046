"""An operator is served beside connections of its own address that have no token, on either port.

They are 1,200 that idle or are slow, or four that send frames of HTTP/2 as fast as the gateway reads them.
"""

import asyncio
import os
import sys
import time
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import asynccontextmanager
from pathlib import Path

import aiohttp
import grpc
import pytest
from rich.console import Console

from soliloquy.cli.tables import table
from tests.integration.gateway.floods import FLOODS, FRAMES, list_over_grpc, list_over_http

CONNECTIONS = dict.fromkeys(FLOODS, 1_200) | dict.fromkeys(FRAMES, 4)
# On each port.
CALLS = 300
CALL_SECONDS = 20.0
# What the flood has to build up.
WARM_SECONDS = 3.0
# The longest that an operator may wait.
MOST_SECONDS = 0.5
# The flood leaves the cores to the gateway besides.
pytestmark = pytest.mark.usefixtures("first_on_the_machine")
_PORTS = {"HTTP": list_over_http, "gRPC": list_over_grpc}


@pytest.fixture(scope="module")
def figures() -> Iterator[list[tuple[str, ...]]]:
    rows: list[tuple[str, ...]] = []
    yield rows
    calls = (f"{port} {what}" for port in _PORTS for what in ("p50", "p99", "most ms"))
    shown = table("flood", *calls, "refused", "opened", "held", "load")
    for row in rows:
        shown.add_row(*row)
    Console(width=140).print(shown)


@pytest.mark.parametrize("kind", CONNECTIONS)
async def test_an_operator_is_served_beside_a_flood(tmp_path: Path, kind: str, figures: list[tuple[str, ...]]) -> None:
    seconds: dict[str, list[float]] = {port: [] for port in _PORTS}
    refused: Counter[str] = Counter()
    async with _process("tests.attack.serve", str(tmp_path)) as gateway:
        assert gateway.stdout
        addresses = dict(zip(_PORTS, (await gateway.stdout.readline()).decode().split(), strict=True))
        attacked = addresses["HTTP"].removeprefix("http://") if kind.startswith("http") else addresses["gRPC"]
        async with _process("tests.integration.gateway.floods", attacked, kind, str(CONNECTIONS[kind])) as flood:
            await asyncio.sleep(WARM_SECONDS)
            for _ in range(CALLS):
                for port, call in _PORTS.items():
                    took, refusal = await _call(call, addresses[port])
                    seconds[port].append(took)
                    refused.update([refusal] if refusal else [])
            assert flood.stdin
            assert flood.stdout
            flood.stdin.write(b"\n")
            opened, held = map(int, (await asyncio.wait_for(flood.stdout.readline(), CALL_SECONDS)).split())
    shown = (f"{1_000 * _share(each, share):.0f}" for each in seconds.values() for share in (0.5, 0.99, 1.0))
    ending = (str(refused.total()), str(opened), str(held), f"{os.getloadavg()[0]:.1f}")
    figures.append((kind, *shown, *ending))
    assert opened >= CONNECTIONS[kind], "the flood did not come up"
    assert not refused
    assert max(_share(each, 0.99) for each in seconds.values()) <= MOST_SECONDS


async def _call(call: Callable[[str], Awaitable[None]], address: str) -> tuple[float, str]:
    """Returns the seconds of a call, and its refusal."""
    began, refusal = time.monotonic(), ""
    try:
        await asyncio.wait_for(call(address), CALL_SECONDS)
    except (TimeoutError, AssertionError, aiohttp.ClientError, grpc.aio.AioRpcError) as error:
        refusal = repr(error)[:200]
    return time.monotonic() - began, refusal


def _share(seconds: list[float], share: float) -> float:
    return sorted(seconds)[min(len(seconds) - 1, round(share * len(seconds)))]


@asynccontextmanager
async def _process(module: str, *arguments: str) -> AsyncIterator[asyncio.subprocess.Process]:
    """Yields a process that ends with its input."""
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", module, *arguments),
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.DEVNULL,
    )
    assert process.stdin
    try:
        yield process
    finally:
        process.stdin.close()
        try:
            await asyncio.wait_for(process.wait(), 20)
        except TimeoutError:
            process.kill()
            await process.wait()
