"""`python -m benchmarks peers`."""

import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import click
from rich.console import RenderableType

from benchmarks import machine
from benchmarks.command import AS_JSON, rounds_option, show, spread, status_line, table
from benchmarks.figures import merged
from benchmarks.forecast import endpoint
from benchmarks.peers.asking import ROLES
from soliloquy.runtime.failure import Failure

ROOT = Path(__file__).parents[2]
_TOKENIZERS = ".venv-curator/lib/python3.11/site-packages/litellm/litellm_core_utils/tokenizers"
_PYTHONS = {
    "bare": Path(sys.executable),
    "ours": Path(sys.executable),
    "data_designer": ROOT / ".venv-data-designer/bin/python",
    "curator": ROOT / ".venv-curator/bin/python",
}
# None of them reports to its makers, or asks for a tokenizer that is not here.
_ENVIRONMENT = {
    "PYTHONPATH": str(ROOT),
    "NEMO_TELEMETRY_ENABLED": "false",
    "TELEMETRY_ENABLED": "false",
    "OPENAI_API_KEY": "none",
    "LITELLM_LOCAL_MODEL_COST_MAP": "True",
    "HF_HUB_OFFLINE": "1",
    "TIKTOKEN_CACHE_DIR": str(ROOT / _TOKENIZERS),
}


@click.command()
@click.option("--conversations", default=512, show_default=True, type=click.IntRange(min=1))
@click.option("--at-once", default=256, show_default=True, type=click.IntRange(min=1), help="Calls of the model.")
@click.option("--latency", default=1.0, show_default=True, type=float, help="Seconds that an answer takes.")
@click.option(
    "--peer", "peers_", multiple=True, type=click.Choice(list(_PYTHONS)), help="[default: all that are installed]"
)
@rounds_option(3)
@AS_JSON
def peers(
    *, conversations: int, at_once: int, latency: float, peers_: Sequence[str], rounds: int, as_json: bool
) -> None:
    """Compare this project with other generators, in turns: the same prompts, the same endpoint, four calls each.

    DataDesigner and Curator run in environments of their own: make .venv-data-designer/installed
    .venv-curator/installed.
    """
    chosen = peers_ or [name for name, python in _PYTHONS.items() if python.exists()]
    measured = []
    with status_line() as tell, endpoint(f"{latency}s") as url:
        facts = machine.facts()
        for number in range(rounds):
            found = {}
            for name in chosen if number % 2 else reversed(chosen):
                tell(f"round {number + 1} of {rounds}: {name}")
                found[name] = _measured(name, url, conversations, at_once, latency)
            measured.append(found)
    figures = {"machine": facts, "rounds": rounds, "conversations": conversations, "at_once": at_once, "targets": []}
    show(figures | {"peers": merged(measured)}, _tables, as_json=as_json)


def _measured(name: str, url: str, conversations: int, at_once: int, latency: float) -> dict[str, float]:
    began = time.perf_counter()
    with tempfile.TemporaryDirectory() as folder:
        command = [str(_PYTHONS[name]), "-m", f"benchmarks.peers.{name}", url, str(conversations), str(at_once), folder]
        environment = os.environ | _ENVIRONMENT | {"HOME": folder}
        done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    if done.returncode:
        said = done.stderr.strip().splitlines() or ["it says nothing"]
        raise Failure(f"{name} ended with status {done.returncode}: {said[-1]}")
    took = json.loads(done.stdout.splitlines()[-1])
    calls = conversations * len(ROLES)
    # Each conversation's calls come one after the other, in as many rounds as the places allow.
    limit = -(-conversations // at_once) * len(ROLES) * latency
    return {
        "share_of_limit": limit / took["seconds"],
        "cpu_ms_a_call": 1000 * took["cpu_seconds"] / calls,
        "start_up_seconds": time.perf_counter() - began - took["seconds"],
    }


def _tables(figures: dict[str, Any]) -> Iterator[RenderableType]:
    title = f"{figures['conversations']} conversations, {figures['at_once']} calls at once"
    made = table(title, "share of the limit", "CPU ms a call", "start-up seconds")
    for name, found in figures["peers"].items():
        made.add_row(name.replace("_", " "), *(spread(found[of]) for of in found))
    yield made
