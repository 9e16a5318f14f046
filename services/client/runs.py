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
import threading
from collections.abc import AsyncGenerator, Coroutine, Iterator
from typing import Any, Self, TypeVar

from soliloquy.v1.gateway_pb2 import (
    DeadLetter,
    FinishedConversation,
    GetConversationResponse,
    RunStatus,
)

from services.client.async_runs import AsyncRuns, is_over, state_of
from services.client.gateway import NotAllowed, Refused, Tls, Unknown
from services.client.patience import ServiceUnavailable

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

    def start(
        self,
        *,
        problems: str,
        conversations: int,
        recipe: str = "soliloquy",
        seed: int = 0,
        in_flight: int = 0,
        max_turns: int = 0,
        max_attempts: int = 0,
        enrich: bool = False,
        request_id: str = "",
    ) -> RunStatus:
        """Whoever asks again with the same request_id gets the same run; without one, each call is another run."""
        return self._wait(
            self._runs.start(
                problems=problems,
                conversations=conversations,
                recipe=recipe,
                seed=seed,
                in_flight=in_flight,
                max_turns=max_turns,
                max_attempts=max_attempts,
                enrich=enrich,
                request_id=request_id,
            )
        )

    def get(self, run: str) -> RunStatus:
        return self._wait(self._runs.get(run))

    def list(self, state: str = "") -> Iterator[RunStatus]:
        """Those that are so, in the words of state_of, or all; the latest first, asked for as they are read."""
        return self._each(self._runs.list(state))

    def watch(self, run: str) -> Iterator[RunStatus]:
        """As it stands, then whenever it changes, until it is over; a gateway that goes away is waited for."""
        return self._each(self._runs.watch(run))

    def cancel(self, run: str) -> RunStatus:
        return self._wait(self._runs.cancel(run))

    def pause(self, run: str) -> RunStatus:
        return self._wait(self._runs.pause(run))

    def resume(self, run: str) -> RunStatus:
        return self._wait(self._runs.resume(run))

    def conversations(
        self,
        run: str,
        *,
        verdict: str = "",
        flagged: bool = False,
        text: str = "",
    ) -> Iterator[FinishedConversation]:
        """Those that are finished, or of them the "accepted" or the "rejected", the latest first."""
        return self._each(self._runs.conversations(run, verdict=verdict, flagged=flagged, text=text))

    def conversation(self, run: str, conversation: str) -> GetConversationResponse:
        """The whole of it, with what is said in it and is not so."""
        return self._wait(self._runs.conversation(run, conversation))

    def tail(self, run: str) -> Iterator[FinishedConversation]:
        """Those that finish from now on, for as long as it is read; what was missed while the gateway was away, too."""
        return self._each(self._runs.tail(run))

    def dead_letters(self, run: str = "") -> Iterator[DeadLetter]:
        """Events that were given up: of this run, or of all."""
        return self._each(self._runs.dead_letters(run))

    def replay(self, letter: str) -> None:
        """Puts a dead letter back, by its id."""
        self._wait(self._runs.replay(letter))

    def _wait(self, call: Coroutine[Any, Any, T]) -> T:
        """Whoever is interrupted, at whatever moment, goes on when nothing of the call is under way."""
        ended = threading.Event()
        begun: list[asyncio.Task[T]] = []

        def begin() -> None:
            begun.append(self._loop.create_task(call))
            begun[0].add_done_callback(lambda _: ended.set())

        def stop() -> None:
            if begun:
                begun[0].cancel()
            else:
                call.close()
                ended.set()

        try:
            self._loop.call_soon_threadsafe(begin)
            ended.wait()
        except BaseException:
            self._loop.call_soon_threadsafe(stop)
            ended.wait()
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
