"""`python -m benchmarks peers`."""

import json
import os
import signal
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
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
    "curator": ROOT / ".venv-curator/bin/python",
    "distilabel": ROOT / ".venv-distilabel/bin/python",
    "data_designer": ROOT / ".venv-data-designer/bin/python",
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
_LOOK_SECONDS = 0.2
# Not at a half: those that ask in passes would have nothing in flight between two of them.
_KILLED_AFTER = 0.6
_PATIENCE_SECONDS = 600.0


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

    Each generates twice: undisturbed, and with a kill -9 once most of the calls are answered, after which it is started
    again. The others run in environments of their own: make .venv-curator/installed .venv-data-designer/installed
    .venv-distilabel/installed.
    """
    chosen = peers_ or [name for name, python in _PYTHONS.items() if python.exists()]
    measured = []
    with status_line() as tell:
        facts = machine.facts()
        for number in range(rounds):
            found = {}
            for name in chosen if number % 2 else reversed(chosen):
                tell(f"round {number + 1} of {rounds}: {name}")
                with _trial(name, conversations, at_once, latency) as trial:
                    found[name] = trial.undisturbed()
                tell(f"round {number + 1} of {rounds}: {name}, killed")
                with _trial(name, conversations, at_once, latency) as trial:
                    found[name] |= trial.killed()
            measured.append({name: found[name] for name in chosen})
    figures = {"machine": facts, "rounds": rounds, "conversations": conversations, "at_once": at_once, "targets": []}
    show(figures | {"peers": merged(measured)}, _tables, as_json=as_json)


@contextmanager
def _trial(name: str, conversations: int, at_once: int, latency: float) -> Iterator["_Trial"]:
    with endpoint(f"{latency}s") as url, tempfile.TemporaryDirectory() as folder:
        yield _Trial(name, url, Path(folder), conversations=conversations, at_once=at_once, latency=latency)


class _Trial:
    """A peer with an endpoint and a folder that no other trial uses."""

    def __init__(self, name: str, url: str, folder: Path, *, conversations: int, at_once: int, latency: float) -> None:
        self._name, self._url, self._folder = name, url, folder
        self._job = [url, str(conversations), str(at_once), str(folder)]
        self._calls = conversations * len(ROLES)
        # Each conversation's calls come one after the other, in as many rounds as the places allow.
        self._limit = -(-conversations // at_once) * len(ROLES) * latency

    def undisturbed(self) -> dict[str, float]:
        began = time.monotonic()
        with self._running() as process:
            cpu_seconds = self._finish(process)
        seconds = self._arrivals()["seconds"]
        return {
            "share_of_limit": self._limit / seconds,
            "cpu_ms_a_call": 1000 * cpu_seconds / self._calls,
            "other_seconds": time.monotonic() - began - seconds,
        }

    def killed(self) -> dict[str, float]:
        with self._running() as process:
            while self._arrivals()["answered"] < _KILLED_AFTER * self._calls:
                if process.poll() is not None:
                    raise Failure(f"{self._name} ended before it could be killed: {self._last_words()}")
                time.sleep(_LOOK_SECONDS)
        with self._running() as process:
            self._finish(process)
        after = self._arrivals()
        # Some also ask at each start whether the endpoint answers.
        return {
            "answered_again": after["answered"] - after["different"],
            "cut_off": after["requests"] - after["answered"],
        }

    @contextmanager
    def _running(self) -> Iterator[subprocess.Popen[bytes]]:
        """Kills what still runs at the end, with all processes that it has started."""
        command = [str(_PYTHONS[self._name]), "-m", f"benchmarks.peers.{self._name}", *self._job]
        environment = os.environ | _ENVIRONMENT | {"HOME": str(self._folder)}
        with (
            self._log.open("wb") as log,
            subprocess.Popen(
                command, env=environment, stdout=log, stderr=subprocess.STDOUT, start_new_session=True
            ) as process,
        ):
            try:
                yield process
            finally:
                if process.poll() is None:
                    os.killpg(process.pid, signal.SIGKILL)

    def _finish(self, process: subprocess.Popen[bytes]) -> float:
        """Returns the CPU seconds that the peer says it took."""
        try:
            status = process.wait(_PATIENCE_SECONDS)
        except subprocess.TimeoutExpired as error:
            raise Failure(f"{self._name} has not ended in {_PATIENCE_SECONDS:g} s: {self._last_words()}") from error
        if status:
            raise Failure(f"{self._name} ended with status {status}: {self._last_words()}")
        return float(self._last_words())

    def _last_words(self) -> str:
        return (self._log.read_text("utf-8", "replace").splitlines() or ["it says nothing"])[-1]

    @property
    def _log(self) -> Path:
        return self._folder / "log"

    def _arrivals(self) -> dict[str, float]:
        with urllib.request.urlopen(f"{self._url}/arrivals") as answer:
            found: dict[str, float] = json.load(answer)
        return found


def _tables(figures: dict[str, Any]) -> Iterator[RenderableType]:
    title = f"{figures['conversations']} conversations, {figures['at_once']} calls at once"
    made = table(title, "share of the limit", "CPU ms a call", "other seconds", "answered again", "cut off")
    for name, found in figures["peers"].items():
        made.add_row(_version(name), *(spread(found[of]) for of in found))
    yield made


def _version(name: str) -> str:
    """Returns what a peer's environment was installed from."""
    wanted = Path(__file__).with_name(f"{name.replace('_', '-')}.in")
    return wanted.read_text("utf-8").splitlines()[0].replace("==", " ") if wanted.exists() else name
