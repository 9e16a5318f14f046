"""`python -m benchmarks chat`."""

import asyncio
import json
import tempfile
import time
from collections import defaultdict
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from http import HTTPStatus
from pathlib import Path
from typing import Any

import aiohttp
import click
import uvloop
from rich.console import RenderableType

from benchmarks import machine
from benchmarks.command import AS_JSON, Tell, rounds_option, show, status_line, table, three_digits
from benchmarks.figures import judged, merged, quantile
from benchmarks.sandbox_load import patient_settings
from soliloquy.client import Sandbox
from soliloquy.problems.bank.bank import load_bank
from soliloquy.runs.chat import ChatTutors, routes, tutor, tutoring_model
from soliloquy.runs.gateway import Plans
from soliloquy.runs.model import ModelSettings, scripted_model
from soliloquy.runtime.failure import Failure
from soliloquy.runtime.model import ChunkReceiver, StreamingModel, StreamListener
from soliloquy.runtime.model.settings_file import shipped_models
from soliloquy.runtime.transports.embedded import EmbeddedTransport
from soliloquy.v1.model_pb2 import Completion, GenerateRequest
from soliloquy_services.executor.pool import SandboxPool
from soliloquy_services.executor.server import SandboxServer
from soliloquy_services.gateway.access.access import Access
from soliloquy_services.gateway.access.rates import RATE_LIMITS
from soliloquy_services.gateway.app import serving
from soliloquy_services.gateway.chat.chats import ChatSettings
from soliloquy_services.gateway.chat.messages import EndpointRules
from soliloquy_services.gateway.chat.tutor import person_in
from soliloquy_services.gateway.http.application import application
from soliloquy_services.gateway.service import Gateway
from soliloquy_services.gateway.settings import GatewaySettings

MANY = 16
# Seconds that each answer of the model takes.
LATENCY = 0.2
BANK, RECIPE = "physics", "soliloquy"
_TARGETS = Path(__file__).with_suffix(".toml")
_FIRST_MESSAGE = "Hi! I am stuck on this one, how do I begin?"
_STOP_SECONDS = 5.0
# The kinds of messages, and whether a program runs before the reply.
_KINDS = (("plain", False), ("calculated", True))


@click.command()
@click.option(
    "--chats",
    default=MANY,
    show_default=True,
    type=click.IntRange(min=1),
    help="Chats to hold, first one after the other, then all at once.",
)
@rounds_option(1)
@AS_JSON
def chat(*, chats: int, rounds: int, as_json: bool) -> None:
    """Measure how long a person waits for a reply.

    The wait is from a message, sent over HTTP, to the first word of the reply. The time that the model itself takes
    is subtracted; the scripted model streams its answers word by word.
    """
    with status_line() as tell:
        facts = machine.facts()
        measured = [uvloop.run(_round(chats, tell)) for _ in range(rounds)]
    figures = {"machine": facts, "rounds": rounds, **merged(measured)}
    show(figures | {"targets": judged(figures, _TARGETS)}, tables, as_json=as_json)


class _TimedModel:
    """Records, by a reply's text, how long the model took until the first word that a person may read."""

    def __init__(self, model: StreamingModel) -> None:
        self._model = model
        self._spent: defaultdict[object, float] = defaultdict(float)
        self.own: defaultdict[str, list[float]] = defaultdict(list)

    async def generate(self, request: GenerateRequest, stream_listener: StreamListener | None = None) -> Completion:
        """Adds up the calls of a message, which are all made in one task."""
        task, began, first = asyncio.current_task(), time.perf_counter(), 0.0
        raw = ""
        so_far = person_in(RECIPE).visible_text.get(request.prompt)

        def listen(asked: GenerateRequest) -> ChunkReceiver | None:
            receive = stream_listener(asked) if stream_listener else None
            if receive is None or so_far is None:
                return None

            def noted(text: str) -> None:
                nonlocal raw, first
                raw += text
                if not first and so_far(raw).strip():
                    first = time.perf_counter()
                receive(text)

            return noted

        completion = await self._model.generate(request, listen)
        self._spent[task] += (first or time.perf_counter()) - began
        if so_far:
            self.own[so_far(completion.text).strip()].append(self._spent.pop(task))
        return completion


async def _round(chats: int, tell: Tell) -> dict[str, Any]:
    timed = _TimedModel(scripted_model(ModelSettings(problems=[BANK], latency=LATENCY)))
    async with _served(timed) as address, _session(address) as session:
        tell("a chat that warms everything up")
        await _held(session, chats, timed)
        tell("one chat after the other")
        waits = [await _held(session, seed, timed) for seed in range(chats)]
        tell(f"{chats} chats at once")
        together = await asyncio.gather(*(_held(session, seed, timed) for seed in range(chats)))
    return {"one": _figures(waits), "many": _figures(together)}


@asynccontextmanager
async def _served(model: StreamingModel) -> AsyncIterator[str]:
    settings, chosen, stopping = ChatSettings(), patient_settings(), asyncio.Event()
    pool, plans = SandboxPool(chosen), Plans(models=shipped_models(), noise="none", files=None)
    server = SandboxServer(pool, chosen)
    # All chats come from one address.
    admitting = Access(None, limits={**RATE_LIMITS, "steering": RATE_LIMITS["calls"]})
    try:
        await pool.start()
        sandbox = await server.start("127.0.0.1:0")
        with tempfile.TemporaryDirectory(prefix="soliloquy-bench-") as folder:
            async with EmbeddedTransport(Path(folder) / "log.sqlite") as transport, Sandbox(sandbox) as client:
                gateway = Gateway(transport, plans, GatewaySettings())
                offered = routes(
                    ChatTutors(
                        usual=tutor(model, client, settings, by=tutoring_model(shipped_models())),
                        models=shipped_models(),
                        sandbox=client,
                        settings=settings,
                    ),
                    transport,
                    settings,
                    EndpointRules(),
                )
                app = application(gateway, GatewaySettings(), admitting, stopping, offered)
                async with gateway.at_work(), serving("127.0.0.1:0", app, stopping) as address:
                    yield address
    finally:
        await server.stop(_STOP_SECONDS)
        await pool.stop()


def _session(address: str) -> aiohttp.ClientSession:
    return aiohttp.ClientSession(f"http://{address}", timeout=aiohttp.ClientTimeout())


async def _held(session: aiohttp.ClientSession, seed: int, timed: _TimedModel) -> list[tuple[bool, float]]:
    """Holds a chat; returns, by message, whether a program ran and the seconds of waiting beyond the model's own."""
    async with session.post("/v1/chats", json={"recipe": RECIPE, "bank": BANK, "seed": seed}) as response:
        chat_id = (await response.json())["id"]
    problem = load_bank(BANK).problem(seed, 0)
    steps = [f"{step.formula} so it is {step.result.value:g} {step.result.unit}" for step in problem.steps]
    waits = [await _waited(session, chat_id, text, timed) for text in (_FIRST_MESSAGE, *steps)]
    return [wait for wait in waits if wait]


async def _waited(
    session: aiohttp.ClientSession, chat_id: str, text: str, timed: _TimedModel
) -> tuple[bool, float] | None:
    """Returns nothing for a message to a chat that is over, as it is before the last step only converts a unit."""
    began, first, calculated, reply = time.perf_counter(), 0.0, False, ""
    async with session.post(f"/v1/chats/{chat_id}/messages", json={"text": text}) as response:
        if response.status == HTTPStatus.CONFLICT:
            return None
        async for line in response.content:
            calculated = calculated or line == b"event: calculation\n"
            if not first and line == b"event: reply\n":
                first = time.perf_counter()
            if line.startswith(b'data: {"turn"'):
                reply = json.loads(line.removeprefix(b"data: "))["turn"]["tutor"]["text"]
    if not reply:
        raise Failure(f"chat {chat_id}: a message got no reply (status {response.status})")
    return calculated, first - began - timed.own[reply].pop(0)


def _figures(waits: list[list[tuple[bool, float]]]) -> dict[str, Any]:
    kinds = {
        name: [wait for chat in waits for ran, wait in chat if ran == with_program] for name, with_program in _KINDS
    }
    return {
        name: {"messages": len(found), **{f"p{part}_ms": quantile(found, part / 100) * 1_000 for part in (50, 95)}}
        for name, found in kinds.items()
    }


def tables(figures: dict[str, Any]) -> Iterator[RenderableType]:
    waits = table("ms until the first word, beyond the model's", "messages", "p50", "p95")
    for name in ("one", "many"):
        for kind, found in figures[name].items():
            medians = (three_digits(found[part]["median"]) for part in ("messages", "p50_ms", "p95_ms"))
            waits.add_row(f"{name}, {kind}", *medians)
    yield waits
