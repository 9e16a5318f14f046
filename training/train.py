"""One training, from its job to its adapter: in this process alone, or in each of several that torchrun or Ray started.

torchrun --nproc-per-node 2 -m training.train --config FILE --base DIR --data DIR --name NAME
"""

import argparse
import sys
from collections.abc import Callable, Mapping
from contextlib import ExitStack
from pathlib import Path
from typing import Any

from training.checkpoints import Progress, weights
from training.data import Prepared, prepare
from training.folder import REPORT, Job, TrainingFolder
from training.loop import Loop
from training.model import build, check_hardware
from training.report import report, save
from training.schedule import check_batch
from training.settings import CannotTrain, read_settings
from training.step_log import StepLog, steps
from training.templating import Template
from training.world import World, world

Tell = Callable[[int], None]


def _quiet(_: int) -> None:
    pass


def check(job: Job, workers: int, tell: Tell = _quiet) -> None:
    """Raises CannotTrain for what can be seen before anything is trained, and makes the data ready."""
    check_batch(job.settings, workers)
    check_hardware(job.settings)
    folder = TrainingFolder(job)
    with folder.opened():
        _prepared(folder, job, tell)


def train(job: Job, tell: Tell = _quiet) -> None:
    """Goes on from the newest checkpoint where there is one; leaves the report, which is the end of it."""
    folder = TrainingFolder(job)
    with world() as own, ExitStack() as held:
        check_batch(job.settings, own.size)
        if own.first:
            identity = held.enter_context(folder.opened())
        try:
            if own.first:
                _prepared(folder, job, tell)
            own.wait()
            prepared = Prepared(folder.prepared)
            model = build(job.base, job.settings, own, job.adapter)
            journal = StepLog(folder.metrics, folder.path / "tensorboard")
            held.callback(journal.close)
            loop = Loop(model, prepared, job.settings, own, folder.checkpoints, journal)
            standing = loop.run()
            trained = weights(model)
            if own.first:
                _finish(folder, job, identity, loop, prepared, model, trained, standing, own)
            own.wait()
        except CannotTrain as failure:
            if own.first:
                folder.note_failure(failure)
            raise


def _prepared(folder: TrainingFolder, job: Job, tell: Tell) -> None:
    try:
        prepare(folder.prepared, job.data, job.settings, Template(job.base), tell)
    except OSError as error:
        raise CannotTrain(
            f"{folder.prepared} cannot be written ({error.strerror or error}): make room and run the command again"
        ) from error


def _finish(
    folder: TrainingFolder,
    job: Job,
    identity: Mapping[str, Any],
    loop: Loop,
    prepared: Prepared,
    model: Any,
    trained: Any,
    standing: Progress,
    own: World,
) -> None:
    schedule, curve = loop.schedule, steps(folder.metrics)
    found = report(
        job,
        identity,
        summary=prepared.summary,
        packed={"sequences": schedule.sequences, "filled": round(schedule.filled, 4)},
        steps=curve,
        standing=standing,
        workers=own.size,
    )
    best = loop.checkpoints.best() if standing.best is not None else trained
    save(job, model, best, found, curve)
    folder.write(REPORT, found)


def main() -> None:
    """What each of torchrun's processes runs."""
    parser = argparse.ArgumentParser(prog="training.train", description=__doc__)
    for name in ("config", "base", "data", "name"):
        parser.add_argument(f"--{name}", required=True)
    parser.add_argument("--out", default="trained")
    parser.add_argument("--adapter")
    options = parser.parse_args()
    try:
        train(
            Job(
                settings=read_settings(Path(options.config)),
                base=Path(options.base),
                data=options.data,
                folder=Path(options.out) / options.name,
                adapter=Path(options.adapter) if options.adapter else None,
            )
        )
    except CannotTrain as failure:
        print(f"soliloquy: {failure}", file=sys.stderr)
        sys.exit(2)


if __name__ == "__main__":
    main()
