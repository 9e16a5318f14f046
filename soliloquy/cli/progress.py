"""Shows the progress of a run in a terminal."""

import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

from soliloquy.runs.progress import RunCounts, Show


def display(wanted: int, *, quiet: bool) -> Callable[[int], AbstractContextManager[Show]]:
    """Returns a display that shows a progress bar, after a line about a resumed run; it shows nothing if quiet."""
    if quiet:
        return lambda _: nullcontext(lambda _counts, _fault: None)

    def begin(resumed_from: int) -> AbstractContextManager[Show]:
        if resumed_from:
            Console(stderr=True).print(f"resuming: {resumed_from} of {wanted} conversations are there")
        return progress_bar(wanted=wanted, resumed_from=resumed_from)

    return begin


def bar(*, quiet: bool = False) -> Progress:
    """Returns a bar on standard error; its tasks have figures."""
    return Progress(
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TextColumn("{task.fields[figures]}"),
        TimeRemainingColumn(compact=True),
        console=Console(stderr=True),
        disable=quiet,
    )


@contextmanager
def progress_bar(*, wanted: int, resumed_from: int) -> Iterator[Show]:
    """Yields a function that updates the bar; a fault replaces the rates."""
    progress = bar()
    task = progress.add_task("conversations", total=wanted, completed=resumed_from, figures="")
    started = time.monotonic()
    first: RunCounts | None = None

    def show(counts: RunCounts, fault: str) -> None:
        nonlocal first
        first = first or counts
        elapsed = max(time.monotonic() - started, 1e-3)
        conversations = (counts.accepted - first.accepted) / elapsed
        executions = (counts.executions - first.executions) / elapsed
        rejected = f"  rejected {counts.rejected}" if counts.rejected else ""
        rates = f"{conversations:.1f}/s  {executions:.1f} executions/s{rejected}"
        progress.update(task, completed=counts.accepted, figures=fault or rates)

    with progress:
        yield show
