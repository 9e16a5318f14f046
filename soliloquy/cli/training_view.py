"""Shows the progress of a training in a terminal and to Prometheus, from the steps that it logs."""

import threading
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol, Self

from prometheus_client import start_http_server
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

from soliloquy.cli.launching import Launch
from soliloquy.runs.failure import Failure

if TYPE_CHECKING:
    from training.folder import Job

LOOK_SECONDS = 0.5


class TrainingDisplay(AbstractContextManager[Any], Protocol):
    def reading(self, conversations: int) -> None: ...

    def update(self, step: dict[str, Any]) -> None: ...


class NoDisplay(AbstractContextManager[Any]):
    def __exit__(self, *_: object) -> None:
        pass

    def reading(self, conversations: int) -> None:
        pass

    def update(self, step: dict[str, Any]) -> None:
        pass


class TrainingBar(AbstractContextManager[Any]):
    """Counts the conversations as they are read, then the steps, with loss, tokens a second and time left."""

    def __init__(self, console: Console) -> None:
        self._progress = Progress(
            TextColumn("{task.description}"),
            BarColumn(),
            MofNCompleteColumn(),
            TextColumn("{task.fields[figures]}"),
            TimeRemainingColumn(compact=True),
            console=console,
        )
        self._task = self._progress.add_task("conversations", total=None, figures="")

    def __enter__(self) -> Self:
        self._progress.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._progress.stop()

    def reading(self, conversations: int) -> None:
        self._progress.update(self._task, completed=conversations)

    def update(self, step: dict[str, Any]) -> None:
        held_out = f"  held out {step['validation']:.4f}" if step["validation"] is not None else ""
        figures = f"loss {step['loss']:.4f}{held_out}  {step['tokens'] / step['seconds']:,.0f} tokens/s"
        self._progress.update(
            self._task, description="steps", completed=step["step"], total=step["steps"], figures=figures
        )


@contextmanager
def serving_metrics(address: str | None) -> Iterator[None]:
    """Serves /metrics if an address is given."""
    if address is None:
        yield
        return
    host, _, port = address.rpartition(":")
    try:
        server, thread = start_http_server(int(port), host)
    except OSError as error:
        raise Failure(f"cannot serve metrics on {address} ({error.strerror}): choose another --metrics") from error
    try:
        yield
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


@contextmanager
def following(folder: Path, shown: TrainingDisplay) -> Iterator[None]:
    """Shows and exports each step that a training logs in its folder, wherever it runs."""
    ended = threading.Event()
    thread = threading.Thread(target=_follow, args=(folder, shown, ended))
    with shown:
        thread.start()
        try:
            yield
        finally:
            ended.set()
            thread.join()


def _follow(folder: Path, shown: TrainingDisplay, ended: threading.Event) -> None:
    from training import metrics
    from training.step_log import newest

    latest = None
    while True:
        last = ended.wait(LOOK_SECONDS)
        step = newest(folder / "metrics.jsonl")
        if step and step != latest:
            latest = step
            shown.update(step)
            metrics.tell(step)
        if checkpoints := sorted(folder.glob("checkpoints/[0-9]*.pt")):
            # Only older checkpoints are removed.
            metrics.CHECKPOINT.set(checkpoints[-1].stat().st_mtime)
        if last:
            return


@dataclass(frozen=True, kw_only=True, slots=True)
class ObservedTraining:
    """Runs a training and shows its progress."""

    launch: Launch
    quiet: bool

    def train(self, job: "Job") -> None:
        shown = NoDisplay() if self.quiet else TrainingBar(Console(stderr=True))
        with following(job.folder, shown):
            self.launch.train(job, shown.reading)
