"""Measures the model service on this machine: what Ray Serve costs, and what happens when replicas are killed."""

import asyncio
import json
import os
import signal
import sys
import tempfile
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

from benchmarks import machine
from benchmarks.command import Tell
from benchmarks.echo import Echo
from benchmarks.figures import judged, merged, quantile, spread
from benchmarks.model_load import Call, CallLoad, after, answers, caller, channel, closed, echoes, healths
from benchmarks.processes import replicas
from soliloquy.recipes.answers import Decision, Program
from soliloquy.recipes.soliloquy.answers import Reply
from soliloquy.v1.model_pb2 import GenerateRequest, Message, Sampling
from soliloquy_services.model.backend import ModelBackend, final_completion
from soliloquy_services.model.serving import deploy, serving
from soliloquy_services.model.settings import ServingSettings

# Each figure of a round is measured for this long.
SECONDS = 5.0
CALLERS = 16
ANSWER_TOKENS = 64
SATURATING_CALLERS = 32
HEALTH_SECONDS = 20.0
HEALTH_PAUSE = 0.02
SCHEMA_ANSWERS = 510
SCHEMA_TOKENS = 1000
REPLICAS = 2
_KINDS = (Decision, Program, Reply)
_TARGETS = Path(__file__).with_name("model.toml")


def measure(settings: ServingSettings, *, rounds: int, tell: Tell) -> dict[str, Any]:
    """Measures everything, listening on the ports of the settings."""
    figures: dict[str, Any] = {"machine": machine.facts(), "rounds": rounds}
    with tempfile.TemporaryDirectory() as folder:
        tell("making a small model")
        small = partial(small_model, _made(Path(folder)))
        tell("the engine in this process")
        in_process = asyncio.run(_in_process(small(), rounds))
        tell("grpc.aio alone")
        bare = asyncio.run(_bare(rounds))
        tell("starting Ray Serve")
        began = time.perf_counter()
        with serving(Echo, settings):
            figures["start_seconds"] = spread([time.perf_counter() - began])
            tell("echo through Ray Serve")
            figures["echo"] = {"bare": bare, "serve": asyncio.run(_echo(settings.grpc_port, rounds))}
            figures["faults"] = asyncio.run(_faults(settings, tell))
            tell("the small model through Ray Serve")
            deploy(small, settings)
            served = asyncio.run(_tokens(settings.grpc_port, rounds))
            figures["small_model"] = {
                "serve": {"tokens_per_second": served},
                "in_process": {"tokens_per_second": in_process},
                "share_of_in_process": spread([served["median"] / in_process["median"]]),
            }
            tell("health with the engine saturated")
            figures["health"] = asyncio.run(_health(settings.grpc_port))
            tell("answers held to a schema")
            figures["schema"] = asyncio.run(_schema(settings.grpc_port))
    return figures | {"targets": judged(figures, _TARGETS)}


def small_model(folder: Path) -> ModelBackend:
    from soliloquy_services.model.engines.chat import ChatBackend
    from soliloquy_services.model.engines.settings import EngineSettings
    from soliloquy_services.model.engines.transformers.engine import TransformersEngine

    settings = EngineSettings(model=folder, batch=SATURATING_CALLERS, cache_tokens=SATURATING_CALLERS * 2048)
    return ChatBackend(TransformersEngine(settings), settings)


def _made(folder: Path) -> Path:
    from transformers.utils.logging import disable_progress_bar

    from benchmarks.random_weights import make_base

    disable_progress_bar()
    return make_base(folder / "small")


async def _in_process(engine: ModelBackend, rounds: int) -> dict[str, float]:
    async def call(request: GenerateRequest) -> Any:
        return await final_completion(engine.stream(request))

    await engine.start()
    try:
        return await _rates(call, rounds)
    finally:
        await engine.stop()


async def _tokens(port: int, rounds: int) -> dict[str, float]:
    async with channel(port) as opened:
        return await _rates(caller(opened), rounds)


async def _rates(call: Call, rounds: int) -> dict[str, float]:
    requests = answers(ANSWER_TOKENS)
    await closed(call, requests, callers=CALLERS, until=after(1.0))
    loads = [await closed(call, requests, callers=CALLERS, until=after(SECONDS)) for _ in range(rounds)]
    return spread([load.tokens_per_second for load in loads])


async def _bare(rounds: int) -> dict[str, Any]:
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "benchmarks.bare_grpc"),
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
    )
    assert process.stdin
    assert process.stdout
    try:
        return await _echo(int(await process.stdout.readline()), rounds)
    finally:
        process.stdin.close()
        await process.wait()


async def _echo(port: int, rounds: int) -> dict[str, Any]:
    requests = echoes()
    async with channel(port) as opened:
        call = caller(opened)
        await closed(call, requests, callers=CALLERS, until=after(1.0))
        measured = []
        for _ in range(rounds):
            one = await closed(call, requests, callers=1, until=after(SECONDS))
            many = await closed(call, requests, callers=CALLERS, until=after(SECONDS))
            measured.append({"c1": one.figures(), f"c{CALLERS}": many.figures()})
    return merged(measured)


async def _faults(settings: ServingSettings, tell: Tell) -> dict[str, Any]:
    """Kills one of two replicas under load, and then replaces both one after the other."""
    two = replace(settings, min_replicas=REPLICAS, max_replicas=REPLICAS)
    await asyncio.to_thread(deploy, Echo, two)
    tell("a replica killed under load")
    async with _load(settings.grpc_port) as killed:
        before = replicas(os.getpid())
        os.kill(min(before), signal.SIGKILL)
        await asyncio.to_thread(_wait_for_successor, before)
        await asyncio.sleep(SECONDS)
    tell("replicas replaced under load")
    async with _load(settings.grpc_port) as replaced:
        await asyncio.to_thread(deploy, Echo, two)
    return {"killed": _failed(killed), "replaced": _failed(replaced)}


def _wait_for_successor(before: set[int]) -> None:
    while not replicas(os.getpid()) - before:
        time.sleep(0.1)


@asynccontextmanager
async def _load(port: int) -> AsyncIterator[CallLoad]:
    """Loads the service from a second before the block to a second after it, and then fills in the result."""
    over = asyncio.Event()
    result = CallLoad()
    async with channel(port) as opened:
        loading = asyncio.create_task(closed(caller(opened), echoes(), callers=CALLERS, until=over.is_set))
        await asyncio.sleep(1.0)
        yield result
        await asyncio.sleep(1.0)
        over.set()
        load = await loading
    result.latencies, result.failures = load.latencies, load.failures


def _failed(load: CallLoad) -> dict[str, Any]:
    return {
        "failed": spread([float(len(load.failures))]),
        "answered": spread([float(len(load.latencies))]),
        "slowest_ms": spread([max(load.latencies, default=0.0) * 1000]),
    }


async def _health(port: int) -> dict[str, Any]:
    over = after(HEALTH_SECONDS)
    async with channel(port) as opened, channel(port) as looking:
        requests = answers(ANSWER_TOKENS)
        loading = closed(caller(opened), requests, callers=SATURATING_CALLERS, until=over)
        load, taken = await asyncio.gather(loading, healths(looking, pause=HEALTH_PAUSE, until=over))
    quantiles = {f"p{part}_ms": spread([quantile(taken, part / 100) * 1000]) for part in (50, 99)}
    return quantiles | {"tokens_per_second": spread([load.tokens_per_second])}


async def _schema(port: int) -> dict[str, Any]:
    """Has a model that writes noise answer to the schemas of a recipe, and checks that the answers keep to them."""
    requests = map(_with_schema, range(SCHEMA_ANSWERS))
    async with channel(port) as opened:
        call = caller(opened)

        async def ask() -> list[bool]:
            return [_keeps_to(request.schema, (await call(request)).text) for request in requests]

        valid = [each for part in await asyncio.gather(*(ask() for _ in range(SATURATING_CALLERS))) for each in part]
    return {"answers": spread([float(len(valid))]), "valid_share": spread([sum(valid) / len(valid)])}


def _with_schema(number: int) -> GenerateRequest:
    return GenerateRequest(
        messages=[Message(role="user", text="Go on.")],
        schema=_KINDS[number % len(_KINDS)].json_schema(),
        sampling=Sampling(temperature=(0.0, 0.4, 1.0)[number % 7 % 3], top_p=1.0, max_tokens=SCHEMA_TOKENS),
        seed=number,
    )


def _keeps_to(schema: str, text: str) -> bool:
    import jsonschema

    try:
        jsonschema.validate(json.loads(text), json.loads(schema))
    except (ValueError, jsonschema.ValidationError):
        return False
    return True
