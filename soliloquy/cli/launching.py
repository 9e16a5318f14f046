"""Trains where the options say, in this process, in several or on Ray, and shows the progress."""

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rich.progress import Progress, TaskID, TimeRemainingColumn

from soliloquy.cli.command import gathered, setting
from soliloquy.cli.options import WORKERS, whole
from soliloquy.cli.progress import bar
from soliloquy.cli.terminal import end_when_asked
from soliloquy.recipes.packages import folder, has_part, known_recipes
from soliloquy.runtime.extensions import check_installed
from soliloquy.runtime.failure import Failure

if TYPE_CHECKING:
    from soliloquy_training.folder import Job

CONFIG = setting(
    "The settings as YAML, or a shipped configuration: smoke, or the name of a recipe that has one.",
    "--config",
    required=True,
    metavar="FILE|NAME",
)
_LIBRARIES = ("torch", "transformers", "peft", "yaml", "matplotlib", "tensorboard")
_WORKERS = setting("Processes, one per GPU.", "--workers", default=1, type=whole(1, WORKERS))
_RAY = "Start them with Ray Train, on the cluster of RAY_ADDRESS if that is set."


@dataclass(frozen=True, kw_only=True, slots=True)
class Launch:
    # The configuration; each worker reads it.
    file: Path
    workers: int
    on_ray: bool

    def train(self, job: "Job", tell: Callable[[int], None]) -> None:
        """Calls `tell` with the number of conversations read; raises Failure."""
        from soliloquy_training.train import check, train

        check(job, self.workers, tell)
        end_when_asked()
        if self.on_ray:
            from soliloquy_training.ray import run_on_ray

            run_on_ray(job, self.workers)
        elif self.workers > 1:
            from soliloquy_training.launch import run_in_workers

            run_in_workers(job, self.file, self.workers)
        else:
            train(job)


def _launch(config: str = CONFIG, workers: int = _WORKERS, on_ray: bool = setting(_RAY, "--ray")) -> Launch:
    check_libraries(*(("ray",) if on_ray else ()))
    return Launch(file=configuration(config), workers=workers, on_ray=on_ray)


LAUNCH = gathered(_launch)


def check_libraries(*further: str) -> None:
    check_installed("train", *_LIBRARIES, *further)


def configuration(named: str) -> Path:
    if Path(named).is_file():
        return Path(named)

    import soliloquy_training

    folders = [
        Path(soliloquy_training.__file__).parent,
        *(folder(name) for name in known_recipes() if has_part(name, "recipe")),
    ]
    shipped = {path.stem: path for each in reversed(folders) for path in (each / "configs").glob("*.yaml")}
    if named in shipped:
        return shipped[named]
    raise Failure(f"unknown configuration {named!r}: use a YAML file, or one of {', '.join(sorted(shipped))}")


LOOK_SECONDS = 0.5


def train_observed(launch: Launch, job: "Job", *, quiet: bool, tracker: str | None = None) -> None:
    from soliloquy_training.tracking import tracking

    with tracking(tracker, job) if tracker else nullcontext(), following(job.folder, quiet=quiet) as tell:
        launch.train(job, tell)


@contextmanager
def following(folder: Path, *, quiet: bool) -> Iterator[Callable[[int], None]]:
    """Shows and exports each step that a training logs in its folder, wherever it runs.

    Yields a callback for the number of conversations read before the first step.
    """
    progress = bar(TimeRemainingColumn(compact=True))
    progress.disable = quiet
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


def _written(path: Path) -> float:
    try:
        return path.stat().st_mtime
    except FileNotFoundError:
        # An older one has been removed meanwhile.
        return 0.0


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
        # Ours, and those of TRL.
        if checkpoints := [*folder.glob("checkpoints/[0-9]*.pt"), *folder.glob("checkpoints/checkpoint-*")]:
            CHECKPOINT.set(max(map(_written, checkpoints)))
        if last:
            return
