"""Runs of the real command, as a user has them."""

import json
import logging
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import Any
from unittest.mock import patch

import pytest
from click.testing import CliRunner

from benchmarks.figures import figure
from soliloquy.cli.main import main
from soliloquy.cli.show import record_of
from soliloquy.client import Dataset
from soliloquy.dataset.frames import read_messages
from soliloquy.dataset.layout import ACCEPTED, REJECTED
from soliloquy.dataset.manifest import MANIFEST, read_manifest, shards_of
from soliloquy.dataset.storage import Storage
from tests.waiting import PATIENCE_SECONDS

SOLILOQUY = str(Path(sys.executable).with_name("soliloquy"))


def command(
    out: Path | str, *, conversations: int = 6, problems: str | Path = "physics", **options: str | int
) -> list[str]:
    """An option that is True is a flag. A stand-in behind an API answers by the name of the scripted model alone."""
    usual = {"seed": 7} | ({"model_name": "scripted"} if options.get("model") == "openai" else {})
    flags = []
    for name, value in (usual | options).items():
        flags += [f"--{name.replace('_', '-')}"] + ([] if value is True else [str(value)])
    wanted = ["--problems", str(problems), "--conversations", str(conversations), "--out", str(out)]
    return [SOLILOQUY, "generate", *wanted, "--json", *flags]


def paced(out: Path | str, **options: Any) -> list[str]:
    """A run of eight that lasts some seconds on any machine; its dataset is that of an unpaced one."""
    return command(out, conversations=8, latency="50ms", in_flight=3, **options)


def run(arguments: list[str], *, environment: Mapping[str, str] | None = None) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        arguments, capture_output=True, text=True, check=False, env={**os.environ, **(environment or {})}
    )


def said(arguments: list[str], *, environment: Mapping[str, str] | None = None) -> subprocess.CompletedProcess[str]:
    """The same without the second that starting Python takes: for a command that is not killed, and ends alone.

    What gRPC still has for the closed loops of other tests is not the command's word.
    """
    with (
        patch.object(logging.getLogger("asyncio"), "disabled", new=True),
        patch.object(sys, "argv", arguments),
        CliRunner().isolation(env=environment) as (output, errors, _),
        pytest.raises(SystemExit) as ended,
    ):
        main()
    assert isinstance(ended.value.code, int | None)
    return subprocess.CompletedProcess(
        arguments, ended.value.code or 0, output.getvalue().decode(), errors.getvalue().decode()
    )


def one_line(result: subprocess.CompletedProcess[str]) -> str:
    """The only line of a command that cannot begin."""
    assert result.returncode == 2, result.stdout + result.stderr
    assert result.stdout == ""
    [line] = result.stderr.strip().splitlines()
    assert line.startswith("soliloquy: ")
    return line


def grown(out: Path | str, **options: Any) -> dict[str, Any]:
    """The report of a run that must succeed."""
    result = said(command(out, **options))
    assert result.returncode == 0, result.stderr
    return dict(json.loads(result.stdout))


def dataset(out: Path | str) -> dict[str, bytes]:
    """The files of a dataset, without what a clock or a machine had a say in."""
    place = Storage(out)
    manifest = read_manifest(place)
    assert manifest is not None
    shards = shards_of(manifest, ACCEPTED, REJECTED)
    for name in ("arrival", "options"):
        manifest.pop(name, None)
    manifest["shards"] = [asdict(shard) for shard in shards]
    kept = {shard.name: place.read(shard.name) or b"" for shard in shards}
    return kept | {MANIFEST: json.dumps(manifest).encode()}


def records(out: Path, *, rejected: bool = False) -> list[dict[str, Any]]:
    return [record_of(conversation) for conversation in Dataset(out).conversations(rejected=rejected)]


def start(arguments: list[str]) -> subprocess.Popen[str]:
    return subprocess.Popen(
        arguments, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True
    )


@contextmanager
def killed_at_end(arguments: list[str]) -> Iterator[subprocess.Popen[str]]:
    """Closes the pipes of a process even if the test fails: left open, they would fail the tests that follow."""
    with start(arguments) as process:
        try:
            yield process
        finally:
            process.kill()


def journal_frames(out: Path) -> int:
    """How many conversations an unfinished run has collected."""
    path = out / ".run" / "journal"
    return sum(1 for _ in read_messages(path)) if path.exists() else 0


def wait_for_frames(
    out: Path, frames: int, process: subprocess.Popen[str], *, seconds: float = PATIENCE_SECONDS
) -> None:
    """Waits until so many conversations are collected or the run is over; rests longer than a read takes."""
    deadline = time.monotonic() + seconds
    while True:
        began = time.monotonic()
        if (found := journal_frames(out)) >= frames or process.poll() is not None:
            return
        assert began < deadline, f"{found} of {frames} conversations after {seconds} s"
        time.sleep(max(0.01, 10 * (time.monotonic() - began)))


def children(pid: int) -> list[int]:
    return [int(child) for child in Path(f"/proc/{pid}/task/{pid}/children").read_text("utf-8").split()]


def worker_pids(parent: int) -> list[int]:
    """The worker processes of a run, each of which has a keeper."""
    return [worker for keeper in children(parent) for worker in children(keeper)]


def worker_named(parent: int, name: str) -> int:
    """One of them, by the name that it has for whoever lists processes."""
    names = {pid: Path(f"/proc/{pid}/comm").read_text("utf-8").strip() for pid in worker_pids(parent)}
    [found] = [pid for pid, called in names.items() if called == name[:15]]
    return found


def kill_run(process: subprocess.Popen[str]) -> list[int]:
    """kill -9 to the run; its workers, which end by themselves."""
    assert process.poll() is None, f"the run was over before its end: {process.communicate()}"
    workers = worker_pids(process.pid)
    kill(process.pid)
    process.communicate()
    return workers


def wait_for_end(pids: list[int], *, seconds: float = PATIENCE_SECONDS) -> None:
    deadline = time.monotonic() + seconds
    while any(alive(pid) for pid in pids):
        assert time.monotonic() < deadline, f"one of {pids} is alive after {seconds} s"
        time.sleep(0.01)


def kill(pid: int) -> None:
    os.kill(pid, signal.SIGKILL)


def alive(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text("utf-8").rpartition(")")[2].split()[0] != "Z"
    except (FileNotFoundError, ProcessLookupError):
        return False


def measured(arguments: list[str]) -> dict[str, Any]:
    """Runs a benchmark and returns its JSON."""
    result = run([*arguments, "--json"])
    assert (result.returncode, result.stderr) == (0, "")
    figures: dict[str, Any] = json.loads(result.stdout)
    assert all(figure(figures, target["figure"]) == target["measured"] for target in figures["targets"])
    return figures
