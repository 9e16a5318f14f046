"""Cancelled runs: stages drop their events and interrupt the handlers that work on them."""

import asyncio
from collections import defaultdict
from collections.abc import Iterator
from contextlib import contextmanager
from weakref import WeakKeyDictionary

from soliloquy.runtime.events import run_key
from soliloquy.v1.events_pb2 import RunCancelled
from soliloquy.v1.runs_pb2 import Run


class CancelledRuns:
    def __init__(self) -> None:
        self._run_keys: set[str] = set()
        self._tasks: defaultdict[str, set[asyncio.Task[object]]] = defaultdict(set)
        # The run of each wait of its events.
        self._waits: WeakKeyDictionary[asyncio.Future[None], str] = WeakKeyDictionary()

    def add(self, cancelled: RunCancelled) -> None:
        key = run_key(cancelled.run)
        if key in self._run_keys:
            # A second cancellation of its task would look like that of a stage that stops.
            return
        self._run_keys.add(key)
        for task in self._tasks.get(key, ()):
            task.cancel()
        for waiting, of_run in list(self._waits.items()):
            if of_run == key and not waiting.done():
                waiting.set_result(None)

    def wake(self, run: Run, waiting: asyncio.Future[None]) -> None:
        """Ends a wait when the run is cancelled."""
        self._waits[waiting] = run_key(run)

    def __contains__(self, run: Run) -> bool:
        return bool(self._run_keys) and run_key(run) in self._run_keys

    @contextmanager
    def interrupting(self, run: Run) -> Iterator[None]:
        """Cancels the work inside when the run is cancelled, and then exits without an error."""
        task = asyncio.current_task()
        assert task
        key = run_key(run)
        tasks = self._tasks[key]
        tasks.add(task)
        try:
            yield
        except asyncio.CancelledError:
            # A stage that stops cancels the task too, and that takes precedence.
            if run not in self or task.uncancel():
                raise
        finally:
            tasks.discard(task)
            if not tasks:
                del self._tasks[key]
