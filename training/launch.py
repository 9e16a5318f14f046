"""Runs a training in several local processes, and restarts them when one is lost."""

import ctypes
import os
import signal
import subprocess
import sys
from pathlib import Path

from soliloquy.runtime.failure import Failure
from soliloquy_training.folder import WORKERS_LOG, Job, TrainingFolder

# Restarts resume from the newest checkpoint.
RESTARTS = 3
_PR_SET_PDEATHSIG = 1


def run_in_workers(job: Job, config: Path, workers: int) -> None:
    """Raises Failure with the failure of the workers, or when they are lost too often."""
    folder, command = TrainingFolder(job), _command(job, config, workers)
    for _ in range(1 + RESTARTS):
        with (folder.path / WORKERS_LOG).open("ab") as log:
            # Torch's launcher ends all workers when one ends.
            process = subprocess.Popen(command, stdout=log, stderr=log, preexec_fn=_die_with_parent)
            try:
                status = process.wait()
            except BaseException:
                process.terminate()
                process.wait()
                raise
        if folder.report():
            return
        if failure := folder.failure():
            raise failure
    raise Failure(
        f"the workers ended {1 + RESTARTS} times with status {status}: see {folder.path / WORKERS_LOG}; the same "
        "command resumes from the newest checkpoint"
    )


def _command(job: Job, config: Path, workers: int) -> list[str]:
    launcher = [sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node", str(workers)]
    named = {"config": config, "base": job.base, "data": job.data, "name": job.folder.name, "out": job.folder.parent}
    named["method"] = job.settings.method
    if job.adapter:
        named["adapter"] = job.adapter
    options = [part for name, value in named.items() for part in (f"--{name}", str(value))]
    return [*launcher, "-m", "soliloquy_training.train", *options]


def _die_with_parent() -> None:
    """Ends the child when its parent dies, even by SIGKILL."""
    ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGTERM)
    if os.getppid() == 1:
        os._exit(1)
