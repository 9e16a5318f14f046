"""Shows the progress of a training in a terminal and to Prometheus, from the steps that it logs."""

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rich.progress import Progress, TaskID

from soliloquy.cli.launching import Launch
from soliloquy.cli.progress import bar

if TYPE_CHECKING:
    from soliloquy_training.folder import Job

LOOK_SECONDS = 0.5


def train_observed(launch: Launch, job: "Job", *, quiet: bool) -> None:
    with following(job.folder, quiet=quiet) as tell:
        launch.train(job, tell)


@contextmanager
def following(folder: Path, *, quiet: bool) -> Iterator[Callable[[int], None]]:
    """Shows and exports each step that a training logs in its folder, wherever it runs.

    Yields a callback for the number of conversations read before the first step.
    """
    progress = bar(quiet=quiet)
    task = progress.add_task("conversations", total=None, figures="")
    ended = threading.Event()
    thread = threading.Thread(target=_follow, args=(folder, partial(_show, progress, task), ended))
    with progress:
        thread.start()
        try:
            yield lambda conversations: progress.update(task, completed=conversations)
        finally:
            ended.set()
            thread.join()


def _show(progress: Progress, task: TaskID, step: dict[str, Any]) -> None:
    held_out = f"  held out {step['validation']:.4f}" if step["validation"] is not None else ""
    figures = f"loss {step['loss']:.4f}{held_out}  {step['tokens'] / step['seconds']:,.0f} tokens/s"
    progress.update(task, description="steps", completed=step["step"], total=step["steps"], figures=figures)


def _follow(folder: Path, show: Callable[[dict[str, Any]], None], ended: threading.Event) -> None:
    from soliloquy_training.step_log import CHECKPOINT, newest, tell

    latest = None
    while True:
        last = ended.wait(LOOK_SECONDS)
        step = newest(folder / "metrics.jsonl")
        if step and step != latest:
            latest = step
            show(step)
            tell(step)
        if checkpoints := sorted(folder.glob("checkpoints/[0-9]*.pt")):
            # Only older checkpoints are removed.
            CHECKPOINT.set(checkpoints[-1].stat().st_mtime)
        if last:
            return
