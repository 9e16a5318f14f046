"""Runs of a gateway from Python: started, followed and read, from a program of one's own.

    with Runs("127.0.0.1:8081") as runs:
        run = runs.start(recipe="soliloquy", problems="physics", conversations=100)
        for status in runs.watch(run.id):  # soliloquy.v1.gateway_pb2.RunStatus; ends with the run
            print(state_of(status), status.progress.accepted, status.eta_seconds)
        for finished in runs.conversations(run.id, flagged=True):
            whole = runs.conversation(run.id, finished.id)
            print(whole.conversation.problem.question, [flag.evidence for flag in whole.flags])

With a token and beyond this machine: Runs("gateway.example:443", token="..", tls=Tls()). AsyncRuns has the same methods
for asyncio: what is an iterator here is an asynchronous one there.
"""

import asyncio
import functools
import threading
from collections.abc import AsyncGenerator, Callable, Coroutine, Iterator
from queue import SimpleQueue
from typing import Any, Concatenate, ParamSpec, Self, TypeVar

from soliloquy.client.async_runs import AsyncRuns, is_over, state_of
from soliloquy.client.gateway import NotAllowed, Refused, Tls, Unknown
from soliloquy.client.patience import ServiceUnavailable

__all__ = [
    "AsyncRuns",
    "NotAllowed",
    "Refused",
    "Runs",
    "ServiceUnavailable",
    "Tls",
    "Unknown",
    "is_over",
    "state_of",
]

T = TypeVar("T")
Asked = ParamSpec("Asked")


def _waiting(
    method: Callable[Concatenate[AsyncRuns, Asked], Coroutine[Any, Any, T]],
) -> Callable[Concatenate["Runs", Asked], T]:
    @functools.wraps(method)
    def call(runs: "Runs", /, *given: Asked.args, **named: Asked.kwargs) -> T:
        return runs._wait(method(runs._runs, *given, **named))

    return call


def _iterating(
    method: Callable[Concatenate[AsyncRuns, Asked], AsyncGenerator[T, None]],
) -> Callable[Concatenate["Runs", Asked], Iterator[T]]:
    @functools.wraps(method)
    def call(runs: "Runs", /, *given: Asked.args, **named: Asked.kwargs) -> Iterator[T]:
        return runs._each(method(runs._runs, *given, **named))

    return call


class Runs:
    """AsyncRuns for programs without asyncio: it runs in a thread of its own, so that a notebook may use it too."""

    def __init__(
        self,
        address: str,
        *,
        token: str = "",
        tls: Tls | None = None,
        deadline_seconds: float = 30.0,
        away_seconds: float = 600.0,
    ) -> None:
        self._runs = AsyncRuns(
            address, token=token, tls=tls, deadline_seconds=deadline_seconds, away_seconds=away_seconds
        )

    def __enter__(self) -> Self:
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, name="runs", daemon=True)
        self._thread.start()
        self._wait(self._runs.__aenter__())
        return self

    def __exit__(self, *_: object) -> None:
        self._wait(self._runs.__aexit__())
        self._wait(self._loop.shutdown_asyncgens())
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()

    start = _waiting(AsyncRuns.start)
    get = _waiting(AsyncRuns.get)
    list = _iterating(AsyncRuns.list)
    watch = _iterating(AsyncRuns.watch)
    cancel = _waiting(AsyncRuns.cancel)
    pause = _waiting(AsyncRuns.pause)
    resume = _waiting(AsyncRuns.resume)
    conversations = _iterating(AsyncRuns.conversations)
    conversation = _waiting(AsyncRuns.conversation)
    tail = _iterating(AsyncRuns.tail)
    dead_letters = _iterating(AsyncRuns.dead_letters)
    replay = _waiting(AsyncRuns.replay)

    def _wait(self, call: Coroutine[Any, Any, T]) -> T:
        """Whoever is interrupted, at whatever moment, goes on when nothing of the call is under way."""
        # An Event would not do: an interrupt in its lock leaves that broken.
        ended: SimpleQueue[None] = SimpleQueue()
        begun: list[asyncio.Task[T]] = []

        def begin() -> None:
            begun.append(self._loop.create_task(call))
            begun[0].add_done_callback(lambda _: ended.put(None))

        def stop() -> None:
            if begun and not begun[0].done():
                begun[0].cancel()
                return
            call.close()
            ended.put(None)

        try:
            self._loop.call_soon_threadsafe(begin)
            ended.get()
        except BaseException:
            self._loop.call_soon_threadsafe(stop)
            ended.get()
            raise
        return begun[0].result()

    def _each(self, items: AsyncGenerator[T, None]) -> Iterator[T]:
        try:
            while True:
                try:
                    item = self._wait(items.__anext__())
                except StopAsyncIteration:
                    return
                yield item
        finally:
            # One that is left half-way may outlive the client.
            if not self._loop.is_closed():
                self._wait(items.aclose())
