"""`python -m benchmarks train`."""

import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import click
from rich.console import Console, RenderableType

from benchmarks.commands.tables import machine_line, rounds_line, show, spread, table, targets_table
from benchmarks.runtime import machine
from benchmarks.runtime.figures import merged
from benchmarks.runtime.targets import judged
from soliloquy.runs.failure import Failure

_NEEDED = ("torch", "transformers", "peft", "yaml")
_SOLILOQUY = (sys.executable, "-c", "from soliloquy.cli.main import main; main()")
TARGETS = Path(__file__).with_name("train.toml")


@click.command()
@click.option("--data", metavar="DIR|URL", help="A dataset to train on.  [default: 60 scripted conversations]")
@click.option("--size", default="tiny", show_default=True, help="Of the model with random weights.")
@click.option("--rounds", default=1, show_default=True, type=click.IntRange(min=1), help="Of which the median counts.")
@click.option("--ray", "on_ray", is_flag=True, help="Have torchrun and Ray run the job too, with two workers each.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object and nothing else.")
def train(*, data: str | None, size: str, rounds: int, on_ray: bool, as_json: bool) -> None:
    """Measure training: packed beside padded batches, our loop beside a bare one, and a whole job."""
    for library in (*_NEEDED, *(("ray",) if on_ray else ())):
        if find_spec(library) is None:
            raise Failure(f"{library} is not installed: pip install 'soliloquy[train]'")
    from training.settings import CannotTrain

    with tempfile.TemporaryDirectory() as scratch, Console(stderr=True).status("starting") as status:
        try:
            figures = _measured(Path(scratch), data, size, rounds, on_ray, status.update)
        except CannotTrain as error:
            raise Failure(str(error)) from error
    show(figures, _parts, as_json=as_json)


def _measured(
    scratch: Path, data: str | None, size: str, rounds: int, on_ray: bool, tell: Callable[[str], None]
) -> dict[str, Any]:
    from benchmarks.model.random_weights import SIZES, make_base
    from training import bench

    if size not in SIZES:
        raise Failure(f"{size!r} is no size: use one of {', '.join(SIZES)}")
    facts, found = machine.facts(), []
    base = make_base(scratch / "base", size)
    data = data or _grown(scratch / "grown")
    for number in range(rounds):
        folder = scratch / str(number)
        folder.mkdir()
        tell(f"round {number + 1} of {rounds}")
        figures = bench.measure(base, data, folder, tell)
        if on_ray:
            tell(f"round {number + 1} of {rounds}: the job with two workers, torchrun's and Ray's")
            figures |= bench.workers_jobs(base, data, folder, workers=2)
        found.append(figures)
    whole = {"machine": facts, "rounds": rounds, **merged(found)}
    return whole | {"targets": judged(whole, TARGETS)}


def _grown(folder: Path) -> str:
    options = ("--problems", "physics", "--conversations", "60", "--seed", "7", "--quiet", "--out", str(folder))
    ended = subprocess.run([*_SOLILOQUY, "generate", *options], stderr=subprocess.PIPE, text=True, check=False)
    if ended.returncode:
        raise Failure(f"no dataset could be grown to train on ({ended.stderr.strip()}): name one with --data")
    return str(folder)


def _parts(figures: dict[str, Any]) -> Iterator[RenderableType]:
    yield machine_line(figures["machine"])
    rates = table("a token of a sample", "tokens/s")
    for name, measured in figures["tokens_per_second"].items():
        rates.add_row(name.replace("_", " "), spread(measured))
    yield rates
    yield targets_table(figures["targets"])
    yield rounds_line(figures["rounds"])
