"""How a run is going, in a terminal or a line at a time."""

import time
from dataclasses import dataclass
from typing import Protocol, Self

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn


@dataclass(frozen=True, kw_only=True, slots=True)
class Standing:
    """What a run has done by now."""

    accepted: int
    rejected: int
    executions: int


class Display(Protocol):
    def __enter__(self) -> Self: ...
    def __exit__(self, *_: object) -> None: ...
    def update(self, standing: Standing, fault: str) -> None: ...


class Quiet:
    """Says nothing."""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        pass

    def update(self, standing: Standing, fault: str) -> None:
        pass


class Bar:
    """A progress bar: done of all, conversations and executions a second, time left."""

    def __init__(self, console: Console, *, wanted: int, resumed_from: int) -> None:
        self._started = time.monotonic()
        self._first: Standing | None = None
        self._progress = Progress(
            TextColumn("conversations"),
            BarColumn(),
            MofNCompleteColumn(),
            TextColumn("{task.fields[rates]}"),
            TimeRemainingColumn(compact=True),
            console=console,
        )
        self._task = self._progress.add_task("conversations", total=wanted, completed=resumed_from, rates="")

    def __enter__(self) -> Self:
        self._progress.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._progress.stop()

    def update(self, standing: Standing, fault: str) -> None:
        """A fault is why nothing can go on at the moment."""
        first = self._first = self._first or standing
        elapsed = max(time.monotonic() - self._started, 1e-3)
        conversations = (standing.accepted - first.accepted) / elapsed
        executions = (standing.executions - first.executions) / elapsed
        rejected = f"  rejected {standing.rejected}" if standing.rejected else ""
        rates = f"{conversations:.1f}/s  {executions:.1f} executions/s{rejected}"
        self._progress.update(self._task, completed=standing.accepted, rates=fault or rates)
