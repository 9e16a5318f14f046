"""`soliloquy model fake`."""

import asyncio
import signal
from pathlib import Path
from typing import Any

import click
import uvloop

from services.model.fake.faults import FaultSchedule
from services.model.fake.server import FakeServer, FakeSettings
from soliloquy.cli.addresses import ADDRESS
from soliloquy.cli.durations import DURATION
from soliloquy.cli.service_options import option, with_options
from soliloquy.problems.bank.bank import bank_names
from soliloquy.problems.sources import BadProblemFile, UnknownProblems
from soliloquy.runs.failure import Failure
from soliloquy.runs.model import ModelSettings, scripted_model
from soliloquy.runtime.listening import CannotListen

_SHARE = click.FloatRange(min=0, max=1)
_TROUBLES = {
    "throttled": "429, with Retry-After.",
    "failed": "500.",
    "truncated": "Half of the body.",
    "malformed": "A body that is no JSON.",
    "hung": "No answer, ever.",
}


@click.command()
@option("--http", "address", default="127.0.0.1:8000", show_default=True, metavar="HOST:PORT", type=ADDRESS)
@option(
    "--problems",
    multiple=True,
    default=bank_names(),
    show_default=True,
    metavar="BANK|FILE",
    help="What the scripted model behind it knows; may be given several times.",
)
@option("--noise", default="none", show_default=True, type=click.Choice(["none", "real"]), help="Imitate real output.")
@option("--latency", default="0ms", show_default=True, type=DURATION, help="Of the median answer.")
@option("--spread", default=0.0, show_default=True, type=click.FloatRange(min=0), help="Sigma of a log-normal latency.")
@with_options(
    [
        option(f"--{name}", default=0.0, metavar="SHARE", type=_SHARE, help=f"So many of the requests: {what}")
        for name, what in _TROUBLES.items()
    ]
)
@option("--period", default="0s", type=DURATION, help="Have those only during the storm at the end of each period.")
@option("--storm", default="0s", type=DURATION, help="How long that storm lasts.")
@option("--retry-after", default="1", show_default=True, metavar="TEXT", help="Seconds, a date, or nothing.")
@option(
    "--formats",
    default="json_schema",
    show_default=True,
    type=click.Choice(["json_schema", "json_object", "none"]),
    help="The response_format that it knows; others get a 400.",
)
@option(
    "--key-file", type=click.Path(path_type=Path, exists=True, dir_okay=False), help="Ask for the key in this file."
)
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
    """Stand in for an OpenAI-compatible API, with the troubles of real ones.

    Requests of `soliloquy generate --model openai` are answered by the scripted model, so that a whole dataset can be
    grown on it; those of other programs by a value that their JSON schema allows.
    """
    settings = FakeSettings(
        weather=FaultSchedule(**weather),
        retry_after=retry_after,
        formats=formats,
        key=key_file.read_text("utf-8").strip() if key_file else "",
    )
    try:
        model = scripted_model(ModelSettings(problems=problems, noise=noise))
        uvloop.run(_serve(FakeServer(model, settings), address))
    except (CannotListen, BadProblemFile, UnknownProblems) as error:
        raise Failure(str(error)) from error


async def _serve(server: FakeServer, address: str) -> None:
    stopped = asyncio.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        asyncio.get_running_loop().add_signal_handler(number, stopped.set)
    async with server.serving(address) as url:
        click.echo(f"ready, for --model openai --base-url {url}", err=True)
        await stopped.wait()
