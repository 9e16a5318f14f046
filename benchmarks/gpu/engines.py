"""Measures an engine on a GPU: tokens a second and the first token, and adapters that are replaced under load."""

import asyncio
import time
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from benchmarks import machine
from benchmarks.engine_load import Answered, Ask, Load, answered_by, through_chat, through_vllm
from benchmarks.figures import spread
from benchmarks.random_weights import make_adapter
from soliloquy.v1.model_pb2 import Adapter
from soliloquy_services.model.engines.chat import ChatBackend
from soliloquy_services.model.engines.settings import EngineSettings
from soliloquy_services.model.engines.tokenizer import ChatTokenizer

_CALLERS = (1, 32, 128, 256)
_ROUNDS = 2
_PROMPT_SENTENCES, _MAX_TOKENS = 24, 128
_REPLACED = 6
# Prompts of about 1,100 tokens, as long as those of a conversation's later turns, and answers of one.
_READ = Load(callers=64, max_tokens=1, sentences=48, begin_apart=True)


async def measure(
    base: Path, name: str, out: Path, *, callers: Sequence[int] = _CALLERS, max_tokens: int = _MAX_TOKENS
) -> dict[str, Any]:
    settings = EngineSettings(model=base, batch=max(callers), cache_tokens=max(callers) * 1024, max_adapters=2)
    engine = _engine(name, settings)
    chat = ChatBackend(engine, settings)
    began = time.monotonic()
    await chat.start()
    started = time.monotonic() - began
    try:
        ways = {"ours": through_chat(chat)}
        if name == "vllm":
            ways["bare"] = through_vllm(engine, ChatTokenizer(base))
        loads = [Load(callers=many, max_tokens=max_tokens, sentences=_PROMPT_SENTENCES) for many in callers]
        rates = {str(load.callers): await rates_of(ways, load) for load in loads}
        reading = await _reading(chat, base, replace(_READ, callers=min(_READ.callers, max(callers))))
        replaced = await _replaced(chat, base, out, loads[1])
    finally:
        await chat.stop()
    return {
        "device": machine.accelerator(),
        "engine": f"{name} {engine.version}",
        "start_seconds": round(started, 1),
        "callers": rates,
        "reading": reading,
        "adapters": replaced,
    }


def _engine(name: str, settings: EngineSettings) -> Any:
    if name == "vllm":
        from soliloquy_services.model.engines.vllm.engine import VllmEngine

        return VllmEngine(settings)
    from soliloquy_services.model.engines.transformers.engine import TransformersEngine

    return TransformersEngine(settings)


async def rates_of(ways: Mapping[str, Ask], load: Load, rounds: int = _ROUNDS) -> dict[str, Any]:
    """The ways take turns, so that what else happens on the machine affects all; the first round warms up."""
    taken = [{way: await answered_by(ask, load) for way, ask in ways.items()} for _ in range(1 + rounds)][1:]
    found: dict[str, Any] = {way: _spreads([each[way] for each in taken]) for way in ways}
    if "bare" in ways:
        shares = [each["ours"].tokens_per_second / each["bare"].tokens_per_second for each in taken]
        found["over_bare"] = spread(shares)
    return found


def _spreads(rounds: Sequence[Answered]) -> dict[str, Any]:
    return {
        "tokens_per_second": spread([each.tokens_per_second for each in rounds]),
        "first_token_ms": spread([each.first_token_ms for each in rounds]),
    }


async def _reading(chat: ChatBackend, base: Path, load: Load) -> dict[str, Any]:
    """Measures how fast prompts are read of which no cache holds any part."""
    prompt_tokens = len(ChatTokenizer(base).prompt(load.request(0).messages))
    loads = [replace(load, first=1000 * number) for number in range(1 + _ROUNDS)]
    rounds = [await answered_by(through_chat(chat), load) for load in loads][1:]
    # An answer is one token, so answers a second are prompts a second.
    rate = spread([prompt_tokens * each.tokens_per_second for each in rounds])
    return {"callers": load.callers, "prompt_tokens": prompt_tokens, "tokens_per_second": rate}


async def _replaced(chat: ChatBackend, base: Path, out: Path, load: Load) -> dict[str, Any]:
    """Replaces an adapter again and again while callers use it; a lost call would raise."""
    folders = [make_adapter(out / "adapters" / f"{base.name}-{seed}", base, seed) for seed in range(2)]
    await chat.load_adapter(Adapter(name="tutor", path=str(folders[0])))
    seconds: list[float] = []
    loading = asyncio.create_task(answered_by(through_chat(chat, ["tutor"]), load))
    while not loading.done() and len(seconds) < _REPLACED:
        began = time.monotonic()
        await chat.load_adapter(Adapter(name="tutor", path=str(folders[len(seconds) % 2])))
        seconds.append(time.monotonic() - began)
        await asyncio.sleep(0.2)
    with_adapter = await loading
    return {
        "callers": load.callers,
        "replaced": len(seconds),
        "replaced_seconds": spread(seconds),
        "tokens_per_second": round(with_adapter.tokens_per_second, 1),
    }
