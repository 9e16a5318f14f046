"""`python -m benchmarks train`."""

import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import click
from rich.console import RenderableType

from benchmarks import machine
from benchmarks.command import AS_JSON, Tell, rounds_option, show, spread, status_line, table
from benchmarks.figures import judged, merged
from soliloquy.runtime.extensions import check_installed
from soliloquy.runtime.failure import Failure

_SOLILOQUY = (sys.executable, "-c", "from soliloquy.cli.main import main; main()")
TARGETS = Path(__file__).with_suffix(".toml")


@click.command()
@click.option("--data", metavar="DIR|URL", help="A dataset to train on.  [default: 60 scripted conversations]")
@click.option("--size", default="tiny", show_default=True, help="Size of the model with random weights.")
@rounds_option(1)
@click.option("--ray", "on_ray", is_flag=True, help="Also run the job on torchrun and on Ray, with two workers each.")
@AS_JSON
def train(*, data: str | None, size: str, rounds: int, on_ray: bool, as_json: bool) -> None:
    """Measure training.

    Compares packed with padded batches and our loop with a bare one, and runs a whole job.
    """
    check_installed("train", "torch", "transformers", "peft", "yaml", *(("ray",) if on_ray else ()))

    with tempfile.TemporaryDirectory() as scratch, status_line() as tell:
        try:
            figures = measure(Path(scratch), data, size, rounds, on_ray, tell)
        except Failure as error:
            raise Failure(str(error)) from error
    show(figures, tables, as_json=as_json)


def measure(scratch: Path, data: str | None, size: str, rounds: int, on_ray: bool, tell: Tell) -> dict[str, Any]:
    from benchmarks import training
    from benchmarks.random_weights import SIZES, make_base

    if size not in SIZES:
        raise Failure(f"{size!r} is not a size: use one of {', '.join(SIZES)}")
    facts, found = machine.facts(), []
    base = make_base(scratch / "base", size)
    data = data or _grown(scratch / "grown")
    for number in range(rounds):
        folder = scratch / str(number)
        folder.mkdir()
        tell(f"round {number + 1} of {rounds}")
        figures = training.measure(base, data, folder, tell)
        if on_ray:
            tell(f"round {number + 1} of {rounds}: the job with two workers, torchrun's and Ray's")
            figures |= training.workers_jobs(base, data, folder, workers=2)
        found.append(figures)
    whole = {"machine": facts, "rounds": rounds, **merged(found)}
    return whole | {"targets": judged(whole, TARGETS)}


def _grown(folder: Path) -> str:
    options = ("--problems", "physics", "--conversations", "60", "--seed", "7", "--quiet", "--out", str(folder))
    ended = subprocess.run([*_SOLILOQUY, "generate", *options], stderr=subprocess.PIPE, text=True, check=False)
    if ended.returncode:
        raise Failure(f"no dataset to train on could be grown ({ended.stderr.strip()}): name one with --data")
    return str(folder)


def tables(figures: dict[str, Any]) -> Iterator[RenderableType]:
    rates = table("tokens of samples", "tokens/s")
    for name, measured in figures["tokens_per_second"].items():
        rates.add_row(name.replace("_", " "), spread(measured))
    yield rates
