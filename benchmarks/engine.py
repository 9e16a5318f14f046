"""`python -m benchmarks engine`."""

import asyncio
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import click
from rich.console import RenderableType

from benchmarks import machine
from benchmarks.command import AS_JSON, Tell, rounds_option, show, spread, status_line, table
from benchmarks.engine_load import Load, answered_by, through_chat
from benchmarks.figures import spread as spread_of
from soliloquy.runtime.extensions import check_installed
from soliloquy.v1.model_pb2 import Adapter

CALLERS = (1, 16, 32)
ADAPTERS = (0, 1, 4)


@click.command()
@click.option("--size", default="tiny", show_default=True, help="Size of the model with random weights.")
@rounds_option(3)
@AS_JSON
def engine(*, size: str, rounds: int, as_json: bool) -> None:
    """Measure tokens a second of an engine in this process."""
    check_installed("serve", "torch", "transformers", "peft", "llguidance")
    with status_line() as tell:
        facts = machine.facts()
        measured = asyncio.run(measure(tell, size=size, rounds=rounds))
    show({"machine": facts, "rounds": rounds, **measured, "targets": []}, tables, as_json=as_json)


async def measure(
    tell: Tell,
    *,
    size: str = "tiny",
    callers: Sequence[int] = CALLERS,
    adapters: Sequence[int] = ADAPTERS,
    max_tokens: int = 64,
    rounds: int = 3,
) -> dict[str, Any]:
    from benchmarks.random_weights import make_adapter, make_base
    from soliloquy_services.model.engines.chat import ChatBackend
    from soliloquy_services.model.engines.settings import EngineSettings
    from soliloquy_services.model.engines.transformers.engine import TransformersEngine

    with tempfile.TemporaryDirectory() as folder:
        base = make_base(Path(folder) / "base", size, ends=False)
        tuned = [make_adapter(Path(folder) / f"adapter-{n}", base, seed=n) for n in range(max(adapters))]
        settings = EngineSettings(model=base, batch=max(callers), cache_tokens=max(callers) * 1024)
        chat = ChatBackend(TransformersEngine(settings), settings)
        await chat.start()
        try:
            measured: dict[str, Any] = {}
            for count in adapters:
                for path in tuned[len(chat.adapters()) : count]:
                    await chat.load_adapter(Adapter(name=path.name, path=str(path)))
                names = [adapter.name for adapter in chat.adapters()] or [""]
                for many in callers:
                    tell(f"{size}: {many} callers, {count} adapters")
                    # The first round warms up.
                    load, ask = Load(callers=many, max_tokens=max_tokens), through_chat(chat, names)
                    found = [await answered_by(ask, load) for _ in range(rounds + 1)][1:]
                    rates = spread_of([each.tokens_per_second for each in found])
                    measured.setdefault(f"{count}_adapters", {})[f"c{many}"] = rates
        finally:
            await chat.stop()
    return {"device": machine.accelerator(), "size": size, "tokens_per_second": measured}


def tables(figures: dict[str, Any]) -> Iterator[RenderableType]:
    measured = figures["tokens_per_second"]
    callers = list(next(iter(measured.values())))
    rates = table(f"tokens/s, {figures['device']}", *(f"{name[1:]} callers" for name in callers))
    for adapters, figures_by_callers in measured.items():
        rates.add_row(adapters.replace("_", " "), *(spread(figures_by_callers[name]) for name in callers))
    yield rates
