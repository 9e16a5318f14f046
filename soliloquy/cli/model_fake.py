from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
import uvloop

from soliloquy.cli.command import Command, gathered, option, setting
from soliloquy.cli.options import ADDRESS, DURATION, EXISTING_FILE, EXISTING_FOLDER, SEED, real, whole
from soliloquy.cli.service_options import LATENCY, NOISE
from soliloquy.cli.terminal import echo, stop_signals
from soliloquy.runs.model import ModelSettings, scripted_model
from soliloquy.runtime.model.dialects import dialects
from soliloquy.runtime.model.keys import read_key

if TYPE_CHECKING:
    from soliloquy_services.model.fake.server import FakeServer

_SHARE = real(0, 1)
_BATCH_FAULTS = {
    "expired": "half of a batch, which then expires",
    "cancelled": "half of one that somebody else cancels",
    "lost": "a batch that is forgotten",
    "unheard": "a batch that is made without a reply",
    "twice": "a batch that is made twice",
    "line_failed": "a line of a batch with a 500",
    "line_missing": "one that is not there",
    "line_repeated": "one that is there twice",
}
_FAULTS = {
    "throttled": "a 429 with Retry-After",
    "failed": "a 500",
    "truncated": "half of the body",
    "malformed": "a body that is not JSON",
    "hung": "no answer at all",
    **_BATCH_FAULTS,
}


def _shares(_: click.Context, __: click.Parameter, listed: Sequence[str]) -> dict[str, float]:
    shares = {}
    for each in listed:
        fault, _equals, share = each.partition("=")
        if fault not in _FAULTS:
            raise click.BadParameter(f"{each!r} is not a fault: use FAULT=SHARE with one of {', '.join(_FAULTS)}")
        shares[fault] = _SHARE(share)
    return shares


_PREFIXES = (
    "Cache the beginnings of prompts that have as many tokens, in steps of 128. PATH/invoice has what was billed."
)


def _weather(
    latency: float = LATENCY,
    period: float = setting("Limit these faults to a storm at the end of each period.", default="0s", type=DURATION),
    storm: float = setting("Length of the storm.", default="0s", type=DURATION),
    batch_latency: float = setting("How long a batch takes.", default="1s", type=DURATION),
    prefix_cache: int | None = setting(_PREFIXES, metavar="TOKENS", type=whole(0, 1_000_000)),
    seed: int = SEED,
) -> dict[str, Any]:
    return locals()


@click.command(cls=Command)
def fake(
    *,
    address: str = option("The address of the API.", "--http", default="127.0.0.1:8000", type=ADDRESS),
    noise: str = NOISE,
    shares: dict[str, Any] = setting(
        "Share of requests, batches or lines with a fault, e.g. throttled=0.3; repeatable. "
        + "; ".join(f"{name}: {what}" for name, what in _FAULTS.items()),
        "--fault",
        multiple=True,
        callback=_shares,
        metavar="FAULT=SHARE",
    ),
    retry_after: str = setting("The Retry-After header of a 429.", default="1", metavar="TEXT"),
    dialect: str | None = setting(
        "Refuse and answer what endpoints of this kind do; without one, everything is accepted.",
        type=click.Choice(sorted(dialects())),
    ),
    replayed: Path | None = setting(
        "Answer as --record has it in this folder; of a dataset, as the most similar prompt was.",
        "--replay",
        type=EXISTING_FOLDER,
    ),
    key_file: Path | None = setting("Ask for the key in this file.", type=EXISTING_FILE),
    weather: dict[str, Any] = gathered(_weather),
) -> None:
    """Fake an OpenAI-compatible API, with the faults of real ones.

    The scripted model answers requests of `soliloquy generate --model openai`, so that it can write a whole dataset.
    With --noise real, it answers as real models do: with thoughts, refusals, prefaces, and malformed where no schema
    constrains it.
    With --replay, it answers as another model did: every request as `generate --record` has it, whatever the model is
    called; or like the conversations of a dataset, which `soliloquy import` may have read. There the scripted model
    answers what is sent back.
    Other programs get a sentence.
    """
    from soliloquy.dataset.reading import Dataset
    from soliloquy.runtime.model.recording import FILE, recorded_answers
    from soliloquy_services.model.engines.replayed import RecordingEngine, ReplayedEngine
    from soliloquy_services.model.fake.batches import BatchFaults
    from soliloquy_services.model.fake.server import FakeServer
    from soliloquy_services.model.fake.settings import FakeSettings

    of_batches = {name: shares.pop(name) for name in _BATCH_FAULTS if name in shares}
    settings = FakeSettings(
        **shares,
        **weather,
        batch_faults=BatchFaults(**of_batches),
        retry_after=retry_after,
        dialect=dialect or "",
        key=read_key(key_file).secret if key_file else "",
    )
    noisy = scripted_model(ModelSettings(noise=noise)) if noise != "none" else None
    calm = scripted_model(ModelSettings())
    if replayed and (replayed / FILE).exists():
        recording = RecordingEngine(recorded_answers(replayed))
        server = FakeServer(recording, settings, noisy, needs_record=False)
    else:
        server = FakeServer(ReplayedEngine(Dataset(replayed), calm) if replayed else calm, settings, noisy)
    uvloop.run(_serve(server, address))


async def _serve(server: "FakeServer", address: str) -> None:
    stopped = stop_signals()
    async with server.serving(address) as url:
        echo(f"ready, for --model openai --model-name scripted --base-url {url}", err=True)
        await stopped.wait()
