"""Trains again until no fault ends it, and prints how each try ended: `python -m tests.faults.training_again JOB`.

JOB is a JSON object of settings, base, data and folder. Each try is a process of its own that need not import torch.
"""

import json
import os
import sys
from pathlib import Path

from soliloquy.runtime.failure import Failure
from soliloquy_training.folder import Job
from soliloquy_training.settings import TrainingSettings
from soliloquy_training.train import train

MOST_TRIES = 40


def _try(job: Job) -> int:
    try:
        train(job)
    except Failure as failure:
        print(failure, flush=True)
        return 2
    return 0


def main() -> None:
    told = json.loads(sys.argv[1])
    settings = TrainingSettings.model_validate(told["settings"])
    job = Job(settings=settings, base=Path(told["base"]), data=told["data"], folder=Path(told["folder"]))
    for _ in range(MOST_TRIES):
        if not (child := os.fork()):
            status = 3
            try:
                status = _try(job)
            finally:
                sys.stderr.flush()
                os._exit(status)
        if (status := os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])) != 2:
            sys.exit(status)
    sys.exit("it did not end")


if __name__ == "__main__":
    main()
