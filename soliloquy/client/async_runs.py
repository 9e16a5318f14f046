"""Starts, follows and reads the runs of a gateway with asyncio; soliloquy.client.runs does so without asyncio."""

import asyncio
import uuid
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import aclosing
from typing import Any, Self, TypeVar

import grpc
from google.protobuf.message import Message

from soliloquy.client.gateway import Tls, open_channel, raise_refusal
from soliloquy.client.retries import RetryBudget
from soliloquy.client.seen import SeenConversations
from soliloquy.v1.gateway_pb2 import (
    CancelRunRequest,
    DeadLetter,
    FinishedConversation,
    GetConversationRequest,
    GetConversationResponse,
    GetRunRequest,
    ListConversationsRequest,
    ListDeadLettersRequest,
    ListRunsRequest,
    PauseRunRequest,
    ReplayDeadLetterRequest,
    ResumeRunRequest,
    RunStatus,
    StartRunRequest,
    TailConversationsRequest,
    WatchRunRequest,
)
from soliloquy.v1.gateway_pb2_grpc import RunServiceStub
from soliloquy.v1.runs_pb2 import RunRequest, RunState

_FINAL_STATES = (RunState.RUN_STATE_CANCELLED, RunState.RUN_STATE_FINISHED, RunState.RUN_STATE_SHORT)
# The pause before a stream is reopened that ended without an error while its run goes on.
_REOPEN_SECONDS = 0.2

T = TypeVar("T")


def state_of(status: RunStatus) -> str:
    """Returns running, paused, cancelled, finished or short."""
    return RunState.Name(status.state).removeprefix("RUN_STATE_").lower()


def is_over(status: RunStatus) -> bool:
    return status.state in _FINAL_STATES


class AsyncRuns:
    """Waits `deadline_seconds` for an answer; while it follows a run, the gateway may be away for `away_seconds`."""

    def __init__(
        self,
        address: str,
        *,
        token: str = "",
        tls: Tls | None = None,
        deadline_seconds: float = 30.0,
        away_seconds: float = 600.0,
    ) -> None:
        self._address = address
        self._gateway = f"the gateway at {address}"
        self._metadata = (("authorization", f"Bearer {token}"),) if token else ()
        self._tls = tls
        self._deadline_seconds = deadline_seconds
        self._away_seconds = away_seconds

    async def __aenter__(self) -> Self:
        self._channel = open_channel(self._address, self._tls)
        self._stub = RunServiceStub(self._channel)
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._channel.close()

    async def start(
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
        """Starts a run. A repeated call with the same `request_id` returns the same run."""
        run = RunRequest(
            recipe=recipe,
            problems=problems,
            conversations=conversations,
            seed=seed,
            in_flight=in_flight,
            max_turns=max_turns,
            max_attempts=max_attempts,
            enrich=enrich,
        )
        # Generated once for each call, so that a retry starts no second run.
        request = StartRunRequest(request=run, request_id=request_id or uuid.uuid4().hex)
        return await self._ask(self._stub.StartRun, request)

    async def get(self, run: str) -> RunStatus:
        return await self._ask(self._stub.GetRun, GetRunRequest(run=run))

    async def list(self, state: str = "") -> AsyncGenerator[RunStatus, None]:
        """Yields the runs in this state (as state_of names it) or all, latest first, page by page."""
        async for answer in self._pages(
            self._stub.ListRuns, ListRunsRequest(state=f"RUN_STATE_{state.upper()}" if state else None)
        ):
            for status in answer.runs:
                yield status

    async def watch(self, run: str) -> AsyncGenerator[RunStatus, None]:
        """Yields the status at once and after each change, until the run is over; reconnects to a restarted gateway."""
        latest = None
        request = WatchRunRequest(run=run)
        async with aclosing(self._follow(run, self._stub.WatchRun, request)) as statuses:
            async for status in statuses:
                if status is not None and status != latest:
                    yield status
                    latest = status
                if latest is not None and is_over(latest):
                    return

    async def cancel(self, run: str) -> RunStatus:
        return await self._ask(self._stub.CancelRun, CancelRunRequest(run=run))

    async def pause(self, run: str) -> RunStatus:
        return await self._ask(self._stub.PauseRun, PauseRunRequest(run=run))

    async def resume(self, run: str) -> RunStatus:
        return await self._ask(self._stub.ResumeRun, ResumeRunRequest(run=run))

    async def conversations(
        self,
        run: str,
        *,
        verdict: str = "",
        flagged: bool = False,
        text: str = "",
    ) -> AsyncGenerator[FinishedConversation, None]:
        """Yields the finished conversations, latest first; `verdict` is "accepted", "rejected" or empty for all."""
        wanted = f"VERDICT_{verdict.upper()}" if verdict else None
        request = ListConversationsRequest(run=run, verdict=wanted, flagged=flagged, text=text)
        async for answer in self._pages(self._stub.ListConversations, request):
            for finished in answer.conversations:
                yield finished

    async def conversation(self, run: str, conversation: str) -> GetConversationResponse:
        """Returns the whole conversation, and a flag for each statement in it that is untrue."""
        return await self._ask(self._stub.GetConversation, GetConversationRequest(run=run, conversation=conversation))

    async def tail(self, run: str) -> AsyncGenerator[FinishedConversation, None]:
        """Yields conversations as they finish, without end; catches up after the gateway was away."""
        seen = SeenConversations()
        request = TailConversationsRequest(run=run)
        async with aclosing(self._follow(run, self._stub.TailConversations, request)) as stream:
            async for finished in stream:
                if finished is not None:
                    if seen.is_unseen(finished):
                        yield finished
                    continue
                async with aclosing(self.conversations(run)) as conversations:
                    for missed in await seen.missed(conversations):
                        yield missed

    async def dead_letters(self, run: str = "") -> AsyncGenerator[DeadLetter, None]:
        """Yields the events that no service could handle, of this run or of all runs."""
        async for answer in self._pages(self._stub.ListDeadLetters, ListDeadLettersRequest(run=run)):
            for letter in answer.letters:
                yield letter

    async def replay(self, letter: str) -> None:
        """Publishes a dead letter again, by its id."""
        await self._ask(self._stub.ReplayDeadLetter, ReplayDeadLetterRequest(id=letter))

    async def _ask(self, method: Callable[..., Awaitable[T]], request: Message, seconds: float | None = None) -> T:
        budget = RetryBudget(self._gateway, seconds or self._deadline_seconds)
        while True:
            try:
                return await method(request, timeout=budget.seconds_left, metadata=self._metadata)
            except grpc.aio.AioRpcError as error:
                raise_refusal(error)
                await budget.wait(error)

    async def _pages(self, method: Callable[..., Awaitable[Any]], request: Any) -> AsyncGenerator[Any, None]:
        while True:
            answer = await self._ask(method, request)
            yield answer
            if not answer.next_page_token:
                return
            request.page_token = answer.next_page_token

    async def _follow(self, run: str, method: Callable[..., Any], request: Message) -> AsyncGenerator[Any, None]:
        """Yields the messages of a stream, and None each time that a stream opens."""
        seconds = self._deadline_seconds
        while True:
            # Fails at once for an unknown run or an absent gateway; a stream would say so only with its first message.
            await self._ask(self._stub.GetRun, GetRunRequest(run=run), seconds)
            seconds = self._away_seconds
            call = method(request, metadata=self._metadata)
            try:
                yield None
                async for message in call:
                    yield message
                await asyncio.sleep(_REOPEN_SECONDS)
            except grpc.aio.AioRpcError as error:
                raise_refusal(error)
                await RetryBudget(self._gateway, seconds).wait(error)
            finally:
                call.cancel()
