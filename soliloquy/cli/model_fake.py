"""`soliloquy model fake`."""

import asyncio
import signal
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
import uvloop

from soliloquy.cli.addresses import ADDRESS
from soliloquy.cli.durations import DURATION
from soliloquy.cli.errors import reporting
from soliloquy.cli.options import EXISTING_FILE
from soliloquy.cli.service_options import option, with_options
from soliloquy.problems.bank.bank import bank_names
from soliloquy.problems.sources import BadProblemFile, UnknownProblems
from soliloquy.runs.model import ModelSettings, scripted_model
from soliloquy.runtime.listening import CannotListen

if TYPE_CHECKING:
    from services.model.fake.server import FakeServer

_SHARE = click.FloatRange(min=0, max=1)
_TROUBLES = {
    "throttled": "a 429 with Retry-After",
    "failed": "a 500",
    "truncated": "half of the body",
    "malformed": "a body that is not JSON",
    "hung": "no answer at all",
}


@click.command()
@option("--http", "address", default="127.0.0.1:8000", show_default=True, metavar="HOST:PORT", type=ADDRESS)
@option(
    "--problems",
    multiple=True,
    default=bank_names(),
    show_default=True,
    metavar="BANK|FILE",
    help="The problems that the scripted model knows; may be repeated.",
)
@option("--noise", default="none", show_default=True, type=click.Choice(["none", "real"]), help="Imitate real output.")
@option("--latency", default="0ms", show_default=True, type=DURATION, help="Median latency of an answer.")
@option("--spread", default=0.0, show_default=True, type=click.FloatRange(min=0), help="Sigma of log-normal latencies.")
@with_options(
    [
        option(f"--{name}", default=0.0, metavar="SHARE", type=_SHARE, help=f"Share of requests answered with {what}.")
        for name, what in _TROUBLES.items()
    ]
)
@option("--period", default="0s", type=DURATION, help="Limit these faults to a storm at the end of each period.")
@option("--storm", default="0s", type=DURATION, help="Length of the storm.")
@option(
    "--retry-after",
    default="1",
    show_default=True,
    metavar="TEXT",
    help="The Retry-After header.",
)
@option(
    "--formats",
    default="json_schema",
    show_default=True,
    type=click.Choice(["json_schema", "json_object", "none"]),
    help="The response_format that is supported; others get a 400.",
)
@option("--key-file", type=EXISTING_FILE, help="Ask for the key in this file.")
@option("--seed", default=0, show_default=True, type=click.IntRange(min=0), help="All draws follow from it.")
def fake(
    *,
    address: str,
    problems: tuple[str, ...],
    noise: str,
    retry_after: str,
    formats: Any,
    key_file: Path | None,
    **weather: Any,
) -> None:
    """Fake an OpenAI-compatible API, with the faults of real ones.

    The scripted model answers requests of `soliloquy generate --model openai`, so that a whole dataset can be grown.
    Other programs get a value that their JSON schema allows.
    """
    from services.model.fake.faults import FaultSchedule
    from services.model.fake.server import FakeServer, FakeSettings

    settings = FakeSettings(
        weather=FaultSchedule(**weather),
        retry_after=retry_after,
        formats=formats,
        key=key_file.read_text("utf-8").strip() if key_file else "",
    )
    with reporting(CannotListen, BadProblemFile, UnknownProblems):
        model = scripted_model(ModelSettings(problems=problems, noise=noise))
        uvloop.run(_serve(FakeServer(model, settings), address))


async def _serve(server: "FakeServer", address: str) -> None:
    stopped = asyncio.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        asyncio.get_running_loop().add_signal_handler(number, stopped.set)
    async with server.serving(address) as url:
        click.echo(f"ready, for --model openai --base-url {url}", err=True)
        await stopped.wait()
