"""Measures what only a GPU can say: `python -m benchmarks.gpu --data DATASET --out DIR [STEP..]`.

Every step runs in a process of its own and leaves DIR/figures/STEP.json. A step whose figures are there is skipped, so
the same command goes on where it was cut short. The exit status is 1 if a step failed.
"""

import importlib.util
import json
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import click
import torch

from benchmarks.gpu.steps import STEPS, Step
from benchmarks.gpu.tables import tables


@click.command()
@click.argument("steps", nargs=-1, type=click.Choice(list(STEPS)))
@click.option("--data", required=True, metavar="DIR", help="The dataset to train on.")
@click.option("--out", type=click.Path(path_type=Path), required=True, help="The folder for figures and weights.")
@click.option("--minutes", type=float, default=9.0, show_default=True, help="Begin no step that could take longer.")
def gpu(*, steps: tuple[str, ...], data: str, out: Path, minutes: float) -> None:
    """Measure training and engines on this machine's GPU, with random weights."""
    (out / "figures").mkdir(parents=True, exist_ok=True)
    ends = time.monotonic() + 60 * minutes
    failed = [name for name in steps or STEPS if not _run(name, STEPS[name], data, out, ends)]
    found = {name: json.loads(path.read_bytes()) for name in STEPS if (path := _figures(out, name)).exists()}
    click.echo(tables(found))
    sys.exit(1 if failed else 0)


def _run(name: str, step: Step, data: str, out: Path, ends: float) -> bool:
    """Returns False if the step failed; one that cannot be measured here has not."""
    if _figures(out, name).exists():
        return True
    if step.needs and importlib.util.find_spec(step.needs) is None:
        click.echo(f"{name}: not measured, since {step.needs} is not installed", err=True)
    elif time.monotonic() + step.seconds > ends:
        click.echo(f"{name}: not begun, since it may take {step.seconds} s: run the same command again", err=True)
    elif not torch.cuda.is_available():
        click.echo(f"{name}: not measured, since this machine has no GPU", err=True)
    else:
        click.echo(f"{name}: begun", err=True)
        began = time.monotonic()
        command = [sys.executable, "-m", "benchmarks.gpu.steps", name, data, str(out)]
        try:
            ended = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True, timeout=step.seconds)
        except (subprocess.TimeoutExpired, subprocess.CalledProcessError) as error:
            click.echo(f"{name}: {error}", err=True)
            return False
        figures: dict[str, Any] = json.loads(ended.stdout.splitlines()[-1])
        whole = {**figures, "took_seconds": round(time.monotonic() - began, 1)}
        _figures(out, name).write_text(json.dumps(whole, indent=1), "utf-8")
    return True


def _figures(out: Path, name: str) -> Path:
    return out / "figures" / f"{name}.json"


if __name__ == "__main__":
    gpu(prog_name="python -m benchmarks.gpu")
