"""Runs of a gateway, for asyncio: soliloquy.client.runs has an example, and the same without asyncio."""

import asyncio
import uuid
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import aclosing
from typing import Any, Self, TypeVar

import grpc
from google.protobuf.message import Message

from soliloquy.client.gateway import Tls, channel_to, raise_refusal
from soliloquy.client.lately import Lately
from soliloquy.client.patience import Patience
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

OVER = (RunState.RUN_STATE_CANCELLED, RunState.RUN_STATE_FINISHED, RunState.RUN_STATE_SHORT)
# Before a stream that ended in good order, and too early, is asked for again.
_AGAIN_SECONDS = 0.2

T = TypeVar("T")


def state_of(status: RunStatus) -> str:
    """running, paused, cancelled, finished or short."""
    return RunState.Name(status.state).removeprefix("RUN_STATE_").lower()


def is_over(status: RunStatus) -> bool:
    return status.state in OVER


class AsyncRuns:
    """Waits for an answer as long as its deadline, and where it follows a run, as long as the gateway may be away."""

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
        self._whom = f"the gateway at {address}"
        self._metadata = (("authorization", f"Bearer {token}"),) if token else ()
        self._tls = tls
        self._deadline_seconds = deadline_seconds
        self._away_seconds = away_seconds

    async def __aenter__(self) -> Self:
        self._channel = channel_to(self._address, self._tls)
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
        """Whoever asks again with the same request_id gets the same run; without one, each call is another run."""
        asked = RunRequest(
            recipe=recipe,
            problems=problems,
            conversations=conversations,
            seed=seed,
            in_flight=in_flight,
            max_turns=max_turns,
            max_attempts=max_attempts,
            enrich=enrich,
        )
        # Of one call: it is the same run however often it is sent.
        request = StartRunRequest(request=asked, request_id=request_id or uuid.uuid4().hex)
        return await self._ask(self._stub.StartRun, request)

    async def get(self, run: str) -> RunStatus:
        return await self._ask(self._stub.GetRun, GetRunRequest(run=run))

    async def list(self, state: str = "") -> AsyncGenerator[RunStatus, None]:
        """Those that are so, in the words of state_of, or all; the latest first, asked for as they are read."""
        async for answer in self._pages(
            self._stub.ListRuns, ListRunsRequest(state=f"RUN_STATE_{state.upper()}" if state else None)
        ):
            for status in answer.runs:
                yield status

    async def watch(self, run: str) -> AsyncGenerator[RunStatus, None]:
        """As it stands, then whenever it changes, until it is over; a gateway that goes away is waited for."""
        told = None
        request = WatchRunRequest(run=run)
        async with aclosing(self._followed(run, self._stub.WatchRun, request)) as statuses:
            async for status in statuses:
                if status is not None and status != told:
                    yield status
                    told = status
                if told is not None and is_over(told):
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
        """Those that are finished, or of them the "accepted" or the "rejected", the latest first."""
        judged = f"VERDICT_{verdict.upper()}" if verdict else None
        request = ListConversationsRequest(run=run, verdict=judged, flagged=flagged, text=text)
        async for answer in self._pages(self._stub.ListConversations, request):
            for finished in answer.conversations:
                yield finished

    async def conversation(self, run: str, conversation: str) -> GetConversationResponse:
        """The whole of it, with what is said in it and is not so."""
        return await self._ask(self._stub.GetConversation, GetConversationRequest(run=run, conversation=conversation))

    async def tail(self, run: str) -> AsyncGenerator[FinishedConversation, None]:
        """Those that finish from now on, for as long as it is read; what was missed while the gateway was away, too."""
        lately = Lately()
        request = TailConversationsRequest(run=run)
        async with aclosing(self._followed(run, self._stub.TailConversations, request)) as told:
            async for finished in told:
                if finished is not None:
                    if lately.is_news(finished):
                        yield finished
                    continue
                async with aclosing(self.conversations(run)) as conversations:
                    for missed in await lately.missed(conversations):
                        yield missed

    async def dead_letters(self, run: str = "") -> AsyncGenerator[DeadLetter, None]:
        """Events that were given up: of this run, or of all."""
        async for answer in self._pages(self._stub.ListDeadLetters, ListDeadLettersRequest(run=run)):
            for letter in answer.letters:
                yield letter

    async def replay(self, letter: str) -> None:
        """Puts a dead letter back, by its id."""
        await self._ask(self._stub.ReplayDeadLetter, ReplayDeadLetterRequest(id=letter))

    async def _ask(self, method: Callable[..., Awaitable[T]], request: Message, seconds: float | None = None) -> T:
        patience = Patience(self._whom, seconds or self._deadline_seconds)
        while True:
            try:
                return await method(request, timeout=patience.left, metadata=self._metadata)
            except grpc.aio.AioRpcError as error:
                raise_refusal(error)
                await patience.outlast(error)

    async def _pages(self, method: Callable[..., Awaitable[Any]], request: Any) -> AsyncGenerator[Any, None]:
        while True:
            answer = await self._ask(method, request)
            yield answer
            if not answer.next_page_token:
                return
            request.page_token = answer.next_page_token

    async def _followed(self, run: str, method: Callable[..., Any], request: Message) -> AsyncGenerator[Any, None]:
        """What a stream tells, and None whenever there is another stream."""
        seconds = self._deadline_seconds
        while True:
            # Whether there is the run, and a gateway: a stream says it no sooner than something happens.
            await self._ask(self._stub.GetRun, GetRunRequest(run=run), seconds)
            seconds = self._away_seconds
            call = method(request, metadata=self._metadata)
            try:
                yield None
                async for message in call:
                    yield message
                await asyncio.sleep(_AGAIN_SECONDS)
            except grpc.aio.AioRpcError as error:
                raise_refusal(error)
                await Patience(self._whom, seconds).outlast(error)
            finally:
                call.cancel()
