"""Runs one training from its job to its adapter, alone or in each of several processes of torchrun or Ray.

torchrun --nproc-per-node 2 -m soliloquy_training.train --config FILE --base DIR --data DIR --name NAME
"""

import argparse
import sys
from collections.abc import Callable, Mapping
from contextlib import ExitStack
from pathlib import Path
from typing import Any

from soliloquy.runtime.failure import Failure
from soliloquy_training.checkpoints import Checkpoints, Progress, weights
from soliloquy_training.data import Prepared, prepare
from soliloquy_training.encoder_decoder import template
from soliloquy_training.folder import REPORT, Job, TrainingFolder
from soliloquy_training.loop import Loop
from soliloquy_training.methods import preferences
from soliloquy_training.model import build, check_base, check_hardware
from soliloquy_training.report import report, save
from soliloquy_training.schedule import check_batch
from soliloquy_training.settings import read_settings
from soliloquy_training.state import write_json
from soliloquy_training.step_log import StepLog, steps
from soliloquy_training.templating import Template
from soliloquy_training.world import World, world


def check(job: Job, workers: int, report_read: Callable[[int], None] = lambda _: None) -> None:
    """Prepares the data; raises Failure for problems that show before the training."""
    check_batch(job.settings, workers)
    check_hardware(job.settings)
    folder = TrainingFolder(job)
    with folder.opened():
        check_base(job.base, job.settings)
        _prepare(job, folder, report_read)


def _prepare(job: Job, folder: TrainingFolder, report_read: Callable[[int], None]) -> None:
    if job.settings.method == "sft":
        prepare(folder.prepared, job.data, job.settings, template(job.base), report_read)
    elif job.settings.method != "grpo":
        preferences.prepare(folder.prepared, job.data, job.settings, Template(job.base), report_read)


def train(job: Job) -> None:
    """Resumes from the newest checkpoint if there is one; the report marks a finished training."""
    folder = TrainingFolder(job)
    with world() as group, ExitStack() as stack:
        check_batch(job.settings, group.size)
        if group.first:
            identity = stack.enter_context(folder.opened())
        try:
            if group.first:
                _prepare(job, folder, lambda _: None)
            group.wait()
            model = build(job.base, job.settings, group, job.adapter)
            log = StepLog(folder.metrics, folder.path / "tensorboard")
            stack.callback(log.close)
            progress, told = _learn(job, model, group, folder, log)
            trained = weights(model)
            if group.first:
                best = Checkpoints(folder.checkpoints, group).best() if progress.best is not None else trained
                curve = steps(folder.metrics)
                content = report(job, identity, told, steps=curve, progress=progress, workers=group.size)
                save(job, model, best, content, curve)
                write_json(folder.path / REPORT, content)
            group.wait()
        except Failure as failure:
            if group.first:
                folder.note_failure(failure)
            raise


def _learn(
    job: Job, model: Any, group: World, folder: TrainingFolder, log: StepLog
) -> tuple[Progress, Mapping[str, Any]]:
    """Returns with the progress what the report says of the data, and of what the method brings."""
    # TRL takes seconds to load, and belongs to an extra of its own.
    if job.settings.method == "grpo":
        from soliloquy_training.methods.grpo import explore

        return explore(job, model, group, folder, log)
    if job.settings.method != "sft":
        from soliloquy_training.methods.trainer import prefer

        return prefer(job, model, preferences.Preferences(folder.prepared), group, folder, log)
    prepared = Prepared(folder.prepared)
    loop = Loop(model, prepared, job.settings, group, folder.checkpoints, log)
    progress = loop.run()
    packed = {"sequences": loop.schedule.sequences, "computed_tokens": loop.schedule.computed()}
    return progress, {"data": prepared.summary | packed}


def main() -> None:
    """The entry point of torchrun's processes."""
    parser = argparse.ArgumentParser(prog="soliloquy_training.train", description=__doc__)
    for name in ("config", "base", "data", "name"):
        parser.add_argument(f"--{name}", required=True)
    parser.add_argument("--out", default="trained")
    parser.add_argument("--method")
    parser.add_argument("--adapter")
    options = parser.parse_args()
    try:
        train(
            Job(
                settings=read_settings(Path(options.config), options.method),
                base=Path(options.base),
                data=options.data,
                folder=Path(options.out) / options.name,
                adapter=Path(options.adapter) if options.adapter else None,
            )
        )
    except Failure as failure:
        print(f"soliloquy: {failure}", file=sys.stderr)
        sys.exit(2)


if __name__ == "__main__":
    main()
