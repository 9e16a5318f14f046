"""Shows the progress of work: a bar with its figures in a terminal, a line now and then in a log."""

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager

from rich.console import Group
from rich.live import Live
from rich.progress import BarColumn, MofNCompleteColumn, Progress, ProgressColumn, TextColumn
from rich.text import Text

from soliloquy.cli.terminal import echo, is_screen, open_console
from soliloquy.runs.progress import RunCounts, Show, WaitingCalls

# Between two lines where standard error is no terminal.
LINE_SECONDS = 10.0
REFRESHES_A_SECOND = 4
# Calls that are answered sooner are not worth a word.
LONG_SECONDS = 5.0

# Shows how many are done, their figures, and what holds the work up.
ShowCount = Callable[[int, Sequence[str], str], None]


def display(wanted: int, *, quiet: bool) -> Callable[[int], AbstractContextManager[Show]]:
    """Returns a display that shows progress, after a line about a resumed run; it shows nothing if quiet."""

    def begin(resumed_from: int) -> AbstractContextManager[Show]:
        if resumed_from and not quiet:
            echo(f"resuming: {resumed_from} of {wanted} conversations are there", err=True)
        return progress_bar(wanted=wanted, resumed_from=resumed_from, quiet=quiet)

    return begin


@contextmanager
def progress_bar(*, wanted: int, resumed_from: int, quiet: bool = False) -> Iterator[Show]:
    """Yields a function that shows the progress of a run."""
    with count("conversations", wanted, done=resumed_from, quiet=quiet) as show:
        yield lambda counts, fault: show(counts.accepted, run_figures(counts), calls_line(counts.calls, fault))


def bar(*further: ProgressColumn) -> Progress:
    """Returns a bar on standard error; its tasks have figures."""
    return Progress(
        TextColumn("{task.description}"),
        BarColumn(bar_width=24),
        MofNCompleteColumn(),
        TextColumn("{task.fields[figures]}", style="dim"),
        *further,
        console=open_console(stderr=True),
    )


@contextmanager
def count(unit: str, total: int, *, quiet: bool, done: int = 0) -> Iterator[ShowCount]:
    """Yields a function that shows how many are done, how fast, their figures, and what holds the work up."""
    pace, progress = Pace(total, done), bar()
    if quiet:
        yield lambda done, figures, fault: None
    elif not is_screen(progress.console):
        yield _lines(unit, total, pace)
    else:
        task = progress.add_task(unit, total=total, completed=done, figures="")
        told = Text(no_wrap=True, overflow="ellipsis", style="yellow")
        with Live(progress, console=progress.console, refresh_per_second=REFRESHES_A_SECOND) as live:

            def show(done: int, figures: Sequence[str], fault: str) -> None:
                progress.update(task, completed=done, figures="  ".join([*pace.at(done), *figures]))
                told.plain = fault
                live.update(Group(progress, told) if fault else progress)

            yield show


def _lines(unit: str, total: int, pace: "Pace") -> ShowCount:
    told_at = time.monotonic()

    def show(done: int, figures: Sequence[str], fault: str) -> None:
        nonlocal told_at
        paced = pace.at(done)
        if time.monotonic() - told_at >= LINE_SECONDS:
            told_at = time.monotonic()
            line = ", ".join([f"{done} of {total} {unit}", *paced, *filter(None, figures)])
            echo(f"{line}; {fault}" if fault else line, err=True)

    return show


class Pace:
    def __init__(self, total: int, resumed_from: int, clock: Callable[[], float] = time.monotonic) -> None:
        self._total = total
        self._resumed_from = resumed_from
        self._clock = clock
        self._began = clock()
        # When the first ones were done, and their number.
        self._first: tuple[float, int] | None = None

    def at(self, done: int) -> list[str]:
        """Returns the speed of this process and the remaining time, each once it can be known.

        While the first ones are on their way none is done, and then many are at once: nothing is known until as much
        time has passed again.
        """
        made, now = done - self._resumed_from, self._clock()
        if made <= 0:
            return []
        since, before = self._first = self._first or (now, made)
        if now - since < since - self._began or made == before:
            return []
        seconds = (now - since) / (made - before)
        left = self._total - done
        return [speed(1 / max(seconds, 1e-6)), *([f"{duration(seconds * left)} left"] if left else [])]


def run_figures(counts: RunCounts) -> list[str]:
    """Returns the rejections and the cost, as far as there are any."""
    tried, said = counts.accepted + counts.rejected, []
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
