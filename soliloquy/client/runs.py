"""Starts, follows and reads the runs of a gateway from Python.

    with Runs("127.0.0.1:8081") as runs:
        run = runs.start(recipe="soliloquy", problems="physics", conversations=100)
        for status in runs.watch(run.id):  # soliloquy.v1.gateway_pb2.RunStatus; ends with the run
            print(state_of(status), status.progress.accepted, status.eta_seconds)
        for finished in runs.conversations(run.id, flagged=True):
            details = runs.conversation(run.id, finished.id)
            print(details.conversation.problem.question, [flag.evidence for flag in details.flags])

For a gateway on another machine: Runs("gateway.example:443", token="..", tls=Tls()). AsyncRuns has the same methods for
asyncio, with asynchronous iterators.
"""

import asyncio
import functools
import threading
from collections.abc import AsyncGenerator, Callable, Coroutine, Iterator
from queue import SimpleQueue
from typing import Any, Concatenate, ParamSpec, Self, TypeVar

from soliloquy.client.async_runs import AsyncRuns
from soliloquy.client.calls import GatewayClient

T = TypeVar("T")
P = ParamSpec("P")


def _blocking(
    method: Callable[Concatenate[AsyncRuns, P], Coroutine[Any, Any, T]],
) -> Callable[Concatenate["Runs", P], T]:
    @functools.wraps(method)
    def call(runs: "Runs", /, *args: P.args, **kwargs: P.kwargs) -> T:
        return runs._wait(method(runs._runs, *args, **kwargs))

    return call


def _iterating(
    method: Callable[Concatenate[AsyncRuns, P], AsyncGenerator[T, None]],
) -> Callable[Concatenate["Runs", P], Iterator[T]]:
    @functools.wraps(method)
    def call(runs: "Runs", /, *args: P.args, **kwargs: P.kwargs) -> Iterator[T]:
        return runs._each(method(runs._runs, *args, **kwargs))

    return call


async def _end_tasks() -> None:
    """Ends what is left of calls: gRPC hears of a call's status in a task that outlives the call."""
    left = asyncio.all_tasks() - {asyncio.current_task()}
    for task in left:
        task.cancel()
    await asyncio.gather(*left, return_exceptions=True)


class Runs(GatewayClient):
    """AsyncRuns for programs without asyncio. Its event loop runs in a thread, so that it works in a notebook too."""

    def __enter__(self) -> Self:
        patience = {"deadline_seconds": self.deadline_seconds, "away_seconds": self.away_seconds}
        self._runs = AsyncRuns(self.address, token=self.token, tls=self.tls, **patience)
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, name="runs", daemon=True)
        self._thread.start()
        self._wait(self._runs.__aenter__())
        return self

    def __exit__(self, *_: object) -> None:
        self._wait(self._runs.__aexit__())
        self._wait(_end_tasks())
        self._wait(self._loop.shutdown_asyncgens())
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()

    start = _blocking(AsyncRuns.start)
    forecast = _blocking(AsyncRuns.forecast)
    get = _blocking(AsyncRuns.get)
    list = _iterating(AsyncRuns.list)
    watch = _iterating(AsyncRuns.watch)
    cancel = _blocking(AsyncRuns.cancel)
    delete = _blocking(AsyncRuns.delete)
    pause = _blocking(AsyncRuns.pause)
    resume = _blocking(AsyncRuns.resume)
    conversations = _iterating(AsyncRuns.conversations)
    conversation = _blocking(AsyncRuns.conversation)
    tail = _iterating(AsyncRuns.tail)
    dead_letters = _iterating(AsyncRuns.dead_letters)
    audit = _iterating(AsyncRuns.audit)
    templates = _iterating(AsyncRuns.templates)
    replay = _blocking(AsyncRuns.replay)
    replay_all = _blocking(AsyncRuns.replay_all)

    def _wait(self, call: Coroutine[Any, Any, T]) -> T:
        """Runs a call to its end; an interrupt cancels it, and is raised only when nothing of the call is running."""
        # Not an Event: an interrupt while it holds its lock would leave the lock broken.
        done: SimpleQueue[None] = SimpleQueue()
        tasks: list[asyncio.Task[T]] = []

        def begin() -> None:
            tasks.append(self._loop.create_task(call))
            tasks[0].add_done_callback(lambda _: done.put(None))

        def stop() -> None:
            if tasks and not tasks[0].done():
                tasks[0].cancel()
                return
            call.close()
            done.put(None)

        try:
            self._loop.call_soon_threadsafe(begin)
            done.get()
        except BaseException:
            self._loop.call_soon_threadsafe(stop)
            done.get()
            raise
        return tasks[0].result()

    def _each(self, items: AsyncGenerator[T, None]) -> Iterator[T]:
        try:
            while True:
                try:
                    item = self._wait(items.__anext__())
                except StopAsyncIteration:
                    return
                yield item
        finally:
            # An iterator that was not exhausted may outlive the client.
            if not self._loop.is_closed():
                self._wait(items.aclose())
