"""Runs trainings, also by the command as a user types it, and finds the processes that it starts."""

import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import yaml

from soliloquy_training.step_log import steps

COMMAND = (sys.executable, "-c", "from soliloquy.cli.main import main; main()", "train", "--quiet")
PATIENCE = 200.0


def train(job: Any) -> None:
    # It loads torch, which every process that only looks for tests would pay for.
    from soliloquy_training import train

    train.train(job)


def check(job: Any) -> None:
    from soliloquy_training import train

    train.check(job, workers=1)


def losses(folder: Path) -> list[tuple[float, float | None]]:
    return [(step["loss"], step["validation"]) for step in steps(folder / "metrics.jsonl")]


def adapter(folder: Path) -> bytes:
    return (folder / "adapter" / "adapter_model.safetensors").read_bytes()


def command(job: Any, *options: str) -> list[str]:
    config = job.folder.parent / f"{job.folder.name}.yaml"
    config.write_text(yaml.safe_dump(job.settings.model_dump(mode="json")))
    named = {"config": config, "base": job.base, "data": job.data, "name": job.folder.name, "out": job.folder.parent}
    # A training on episodes has no data.
    given = (part for name, value in named.items() if value for part in (f"--{name}", str(value)))
    return [*COMMAND, *given, *options]


def until_step(folder: Path, step: int, process: "subprocess.Popen[bytes]") -> None:
    deadline = time.monotonic() + PATIENCE
    while len(losses(folder)) < step:
        assert process.poll() is None, "it ended before it could be killed"
        assert time.monotonic() < deadline
        time.sleep(0.05)


def below(pid: int, *said: bytes) -> list[int]:
    """Returns the descendants whose command line has all these words."""
    found = []
    for path in Path("/proc").glob("[0-9]*"):
        try:
            if _descends(path, pid) and all(word in (path / "cmdline").read_bytes() for word in said):
                found.append(int(path.name))
        except (FileNotFoundError, ProcessLookupError):
            continue
    return sorted(found)


def _descends(path: Path, pid: int) -> bool:
    while (parent := int((path / "stat").read_text().rpartition(")")[2].split()[1])) > 1:
        if parent == pid:
            return True
        path = Path(f"/proc/{parent}")
    return False
