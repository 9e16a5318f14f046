"""Shows the progress of a run: a bar with its figures in a terminal, a line now and then in a log."""

import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext

from rich.console import Console, Group
from rich.live import Live
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn
from rich.text import Text

from soliloquy.cli.terminal import echo, open_console
from soliloquy.runs.progress import RunCounts, Show, WaitingCalls

# Between two lines where standard error is no terminal.
LINE_SECONDS = 10.0
REFRESHES_A_SECOND = 4
# Calls that are answered sooner are not worth a word.
LONG_SECONDS = 5.0

# Shows how many are done, their figures, and what holds the work up.
ShowCount = Callable[[int, str, str], None]


def display(wanted: int, *, quiet: bool) -> Callable[[int], AbstractContextManager[Show]]:
    """Returns a display that shows progress, after a line about a resumed run; it shows nothing if quiet."""
    if quiet:
        return lambda _: nullcontext(lambda _counts, _fault: None)

    def begin(resumed_from: int) -> AbstractContextManager[Show]:
        if resumed_from:
            echo(f"resuming: {resumed_from} of {wanted} conversations are there", err=True)
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
        console=open_console(stderr=True),
        disable=quiet,
    )


@contextmanager
def count(unit: str, total: int, *, quiet: bool) -> Iterator[ShowCount]:
    """Yields a function that shows how many are done, their figures, and what holds the work up."""
    if not quiet and not open_console(stderr=True).is_terminal:
        yield _count_lines(unit, total)
        return
    with bar(quiet=quiet) as progress:
        task = progress.add_task(unit, total=total, figures="")
        yield lambda done, figures, fault: progress.update(task, completed=done, figures=fault or figures)


def _count_lines(unit: str, total: int) -> ShowCount:
    say = _sayer()
    return lambda done, figures, fault: say([f"{done} of {total} {unit}", figures], fault)


def _sayer() -> Callable[[Iterable[str], str], None]:
    """Returns a function that prints figures and what holds the work up, if it is time for a line."""
    told_at = time.monotonic()

    def say(figures: Iterable[str], fault: str) -> None:
        nonlocal told_at
        if time.monotonic() - told_at >= LINE_SECONDS:
            told_at = time.monotonic()
            echo("; ".join(filter(None, [", ".join(filter(None, figures)), fault])), err=True)

    return say


def progress_bar(*, wanted: int, resumed_from: int) -> AbstractContextManager[Show]:
    """Returns a context of a function that shows the progress."""
    figures = Figures(wanted, resumed_from)
    console = open_console(stderr=True)
    return _bar(figures, console) if console.is_terminal else _lines(figures)


class Figures:
    def __init__(self, wanted: int, resumed_from: int, clock: Callable[[], float] = time.monotonic) -> None:
        self.wanted = wanted
        self.resumed_from = resumed_from
        self._clock = clock
        self._began = clock()

    def run(self, counts: RunCounts) -> list[str]:
        """Returns the speed, the remaining time, the rejections and the cost, as far as there are any."""
        made, tried = counts.accepted - self.resumed_from, counts.accepted + counts.rejected
        said = []
        if made > 0:
            seconds = (self._clock() - self._began) / made
            said.append(speed(1 / max(seconds, 1e-6)))
            if left := self.wanted - counts.accepted:
                said.append(f"{duration(seconds * left)} left")
        if counts.rejected:
            reason = f", most for {counts.reason}" if counts.reason else ""
            said.append(f"{counts.rejected} of {tried} rejected ({counts.rejected / tried:.0%}{reason})")
        if counts.cost:
            said.append(f"cost {counts.cost:.2f}")
        return said


def calls_line(calls: WaitingCalls, fault: str = "") -> str:
    """Returns what holds the work up; empty if nothing does."""
    said = []
    if calls.number and (calls.oldest_seconds >= LONG_SECONDS or calls.error):
        waiting = "1 model call waits" if calls.number == 1 else f"{calls.number} model calls wait"
        oldest = "" if calls.number == 1 else ", the oldest"
        batches = "1 batch" if calls.batches == 1 else f"{calls.batches} batches"
        inside = f" ({calls.batched:,} in {batches})" if calls.batches else ""
        said.append(f"{waiting}{inside}{oldest} for {duration(calls.oldest_seconds)}")
    if calls.error:
        said.append(f"last error: {calls.error}")
    if fault and not (calls.error and calls.error in fault):
        said.append(fault)
    return "; ".join(said)


def speed(a_second: float) -> str:
    for unit, seconds in (("s", 1), ("min", 60)):
        if a_second * seconds >= 1:
            return f"{a_second * seconds:.1f}/{unit}"
    return f"{a_second * 3600:.1f}/h"


def duration(seconds: float) -> str:
    if seconds < 60:
        return f"{seconds:.0f} s"
    minutes = round(seconds / 60)
    return f"{minutes} min" if minutes < 60 else f"{minutes // 60} h {minutes % 60} min"


@contextmanager
def _bar(figures: Figures, console: Console) -> Iterator[Show]:
    progress = Progress(
        TextColumn("conversations"),
        BarColumn(bar_width=24),
        MofNCompleteColumn(),
        TextColumn("{task.fields[figures]}", style="dim"),
    )
    task = progress.add_task("", total=figures.wanted, completed=figures.resumed_from, figures="")
    told = Text(no_wrap=True, overflow="ellipsis", style="yellow")
    with Live(Group(progress, told), console=console, refresh_per_second=REFRESHES_A_SECOND) as live:

        def show(counts: RunCounts, fault: str) -> None:
            progress.update(task, completed=counts.accepted, figures="  ".join(figures.run(counts)))
            told.plain = calls_line(counts.calls, fault)
            live.update(Group(progress, told) if told.plain else progress)

        yield show


@contextmanager
def _lines(figures: Figures) -> Iterator[Show]:
    say = _sayer()
    yield lambda counts, fault: say(
        [f"{counts.accepted} of {figures.wanted} conversations", *figures.run(counts)], calls_line(counts.calls, fault)
    )
