from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
import uvloop

from soliloquy.cli.command import Command, option, setting
from soliloquy.cli.options import ADDRESS, EXISTING_FILE, EXISTING_FOLDER, SEED, real
from soliloquy.cli.service_options import LATENCY
from soliloquy.cli.terminal import echo, stop_signals
from soliloquy.runs.model import ModelSettings, scripted_model
from soliloquy.runtime.failure import Failure
from soliloquy.runtime.model.keys import read_key

if TYPE_CHECKING:
    from soliloquy_services.model.fake import FakeServer

_SHARE = real(0, 1)
FAULTS = {
    "throttled": "a 429 with Retry-After",
    "failed": "a 500",
    "truncated": "half of the body",
    "malformed": "a body that is not JSON",
    "hung": "no answer at all",
}


def shares(*faults: str) -> Callable[[click.Context, click.Parameter, Sequence[str]], dict[str, float]]:
    """Returns a callback that reads FAULT=SHARE of these faults."""

    def read(_: click.Context, __: click.Parameter, listed: Sequence[str]) -> dict[str, float]:
        found = {}
        for each in listed:
            fault, _equals, share = each.partition("=")
            if fault not in faults:
                raise click.BadParameter(f"{each!r} is not a fault: use FAULT=SHARE with one of {', '.join(faults)}")
            found[fault] = _SHARE(share)
        return found

    return read


@click.command(cls=Command)
def fake(
    *,
    address: str = option("The address of the API.", "--http", default="127.0.0.1:8000", type=ADDRESS),
    faults: dict[str, Any] = setting(
        "Share of requests with a fault, e.g. throttled=0.3; repeatable. "
        + "; ".join(f"{name}: {what}" for name, what in FAULTS.items()),
        "--fault",
        multiple=True,
        callback=shares(*FAULTS),
        metavar="FAULT=SHARE",
    ),
    replayed: Path | None = setting(
        "Answer as --record has it in this folder.",
        "--replay",
        type=EXISTING_FOLDER,
    ),
    key_file: Path | None = setting("Ask for the key in this file.", type=EXISTING_FILE),
    latency: float = LATENCY,
    seed: int = SEED,
) -> None:
    """Fake an OpenAI-compatible API, with the faults of real ones.

    The scripted model answers requests of `soliloquy generate --model openai`, so that it can write a whole dataset.
    With --replay, it answers as another model did: every request as `generate --record` has it, whatever the model is
    called.
    Other programs get a sentence.
    """
    from soliloquy.runtime.model.recording import FILE, recorded_answers
    from soliloquy_services.model.fake import FakeServer, FakeSettings, RecordingEngine

    key = read_key(key_file).secret if key_file else ""
    settings = FakeSettings(**faults, latency=latency, seed=seed, key=key)
    if replayed and not (replayed / FILE).exists():
        raise Failure(f"{replayed} holds no {FILE}: name a folder that soliloquy generate --record has written")
    model = RecordingEngine(recorded_answers(replayed)) if replayed else scripted_model(ModelSettings())
    uvloop.run(until_stopped(FakeServer(model, settings, needs_record=replayed is None), address))


async def until_stopped(server: "FakeServer", address: str) -> None:
    stopped = stop_signals()
    async with server.serving(address) as url:
        echo(f"ready, for --model openai --model-name scripted --base-url {url}", err=True)
        await stopped.wait()
