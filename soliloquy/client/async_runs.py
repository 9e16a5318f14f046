"""Starts, follows and reads the runs of a gateway with asyncio; soliloquy.client.runs does so without asyncio."""

import asyncio
import uuid
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable, Mapping
from contextlib import aclosing
from typing import Any, Self, TypeVar

import grpc
from google.protobuf.message import Message

from soliloquy.client.calls import GATEWAY_OPTIONS, GATEWAY_REFUSALS, GatewayClient, RetryBudget
from soliloquy.client.states import is_over
from soliloquy.runtime.tls import open_channel
from soliloquy.v1 import gateway_pb2
from soliloquy.v1.events_pb2 import CallAudited
from soliloquy.v1.gateway_pb2 import DatasetState, FinishedConversation, RunForecast, RunStatus
from soliloquy.v1.gateway_pb2_grpc import RunServiceStub
from soliloquy.v1.runs_pb2 import RunRequest

# The pause before a stream is reopened that ended without an error while its run goes on.
_REOPEN_SECONDS = 0.2
# Conversations are listed in the order of their arrival, which may differ by this much from the order of finishing.
_DISORDER_SECONDS = 60.0
# The gateway rehearses some conversations first if no run is like the requested one.
_FORECAST_SECONDS = 60.0

# Without a template.
_RECIPE = "soliloquy"

T = TypeVar("T")


class AsyncRuns(GatewayClient):
    async def __aenter__(self) -> Self:
        self._gateway = f"the gateway at {self.address}"
        self._metadata = (("authorization", f"Bearer {self.token}"),) if self.token else ()
        self._channel = open_channel(self.address, self.tls, GATEWAY_OPTIONS)
        self._stub = RunServiceStub(self._channel)
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._channel.close()

    async def start(
        self,
        *,
        template: str = "",
        problems: str = "",
        conversations: int = 0,
        recipe: str = "",
        seed: int = 0,
        in_flight: int = 0,
        max_turns: int = 0,
        max_attempts: int = 0,
        enrich: bool = False,
        name: str = "",
        priority: int = 0,
        prompts: Mapping[str, str] = {},
        language: str = "",
        request_id: str = "",
    ) -> RunStatus:
        """Starts a run. A repeated call with the same `request_id` returns the same run.

        A `template` of the gateway has the settings that are left out; without one, `problems` and `conversations` are
        required. `prompts` holds the text of each prompt file that is to differ from the recipe's own, by name.
        """
        request = _start_request(
            request_id,
            template,
            recipe=recipe,
            problems=problems,
            conversations=conversations,
            seed=seed,
            in_flight=in_flight,
            max_turns=max_turns,
            max_attempts=max_attempts,
            enrich=enrich,
            name=name,
            priority=priority,
            prompts=prompts,
            language=language,
        )
        return await self._ask(self._stub.StartRun, request)

    async def forecast(self, /, *, template: str = "", **settings: Any) -> RunForecast:
        """Says what a run would take, and starts nothing; `settings` are those of `start`."""
        request = _start_request("", template, **settings)
        return await self._ask(self._stub.ForecastRun, request, max(_FORECAST_SECONDS, self.deadline_seconds))

    async def get(self, run: str) -> RunStatus:
        return await self._ask(self._stub.GetRun, gateway_pb2.GetRunRequest(run=run))

    async def list(self, state: str = "") -> AsyncGenerator[RunStatus, None]:
        """Yields the runs in this state (as state_of names it) or all, latest first, page by page."""
        async for answer in self._pages(
            self._stub.ListRuns, gateway_pb2.ListRunsRequest(state=f"RUN_STATE_{state.upper()}" if state else None)
        ):
            for status in answer.runs:
                yield status

    async def watch(self, run: str) -> AsyncGenerator[RunStatus, None]:
        """Yields the status at once and after each change, until the run is over and its dataset written.

        Reconnects to a restarted gateway.
        """
        latest = None
        request = gateway_pb2.WatchRunRequest(run=run)
        async with aclosing(self._follow(run, self._stub.WatchRun, request)) as statuses:
            async for status in statuses:
                if status is not None and status != latest:
                    yield status
                    latest = status
                if latest is not None and is_over(latest) and latest.dataset != DatasetState.DATASET_STATE_WRITING:
                    return

    async def cancel(self, run: str) -> RunStatus:
        return await self._ask(self._stub.CancelRun, gateway_pb2.CancelRunRequest(run=run))

    async def pause(self, run: str) -> RunStatus:
        return await self._ask(self._stub.PauseRun, gateway_pb2.PauseRunRequest(run=run))

    async def resume(self, run: str) -> RunStatus:
        return await self._ask(self._stub.ResumeRun, gateway_pb2.ResumeRunRequest(run=run))

    async def delete(self, run: str) -> RunStatus:
        """Removes a run that is over, with its dataset."""
        return await self._ask(self._stub.DeleteRun, gateway_pb2.DeleteRunRequest(run=run))

    async def conversations(
        self,
        run: str,
        *,
        verdict: str = "",
        flagged: bool = False,
        text: str = "",
        reason: str = "",
        ending: str = "",
        persona: str = "",
    ) -> AsyncGenerator[FinishedConversation, None]:
        """Yields the finished conversations, latest first; `verdict` is "accepted", "rejected" or empty for all.

        `reason` is a rule that they break, `ending` one as "solved", `persona` the student's.
        """
        request = gateway_pb2.ListConversationsRequest(
            run=run,
            verdict=f"VERDICT_{verdict.upper()}" if verdict else None,
            ending=f"ENDING_{ending.upper()}" if ending else None,
            flagged=flagged,
            text=text,
            reason=reason,
            persona=persona,
        )
        async for answer in self._pages(self._stub.ListConversations, request):
            for finished in answer.conversations:
                yield finished

    async def conversation(self, run: str, conversation: str) -> gateway_pb2.GetConversationResponse:
        """Returns the whole conversation, and a flag for each statement in it that is untrue."""
        return await self._ask(
            self._stub.GetConversation, gateway_pb2.GetConversationRequest(run=run, conversation=conversation)
        )

    async def tail(self, run: str) -> AsyncGenerator[FinishedConversation, None]:
        """Yields conversations as they finish, without end; catches up after the gateway was away."""
        seen = SeenConversations()
        async with aclosing(self.conversations(run)) as conversations:
            await seen.begin(conversations)
        request = gateway_pb2.TailConversationsRequest(run=run)
        async with aclosing(self._follow(run, self._stub.TailConversations, request)) as stream:
            async for finished in stream:
                if finished is not None:
                    if seen.is_unseen(finished):
                        yield finished
                    continue
                async with aclosing(self.conversations(run)) as conversations:
                    for missed in await seen.missed(conversations):
                        yield missed

    async def dead_letters(self, run: str = "") -> AsyncGenerator[gateway_pb2.DeadLetter, None]:
        """Yields the events that no service could handle, of this run or of all runs."""
        async for answer in self._pages(self._stub.ListDeadLetters, gateway_pb2.ListDeadLettersRequest(run=run)):
            for letter in answer.letters:
                yield letter

    async def templates(self) -> AsyncGenerator[gateway_pb2.Template, None]:
        """Yields the runs that the gateway's operators have described, by name."""
        answer = await self._ask(self._stub.ListTemplates, gateway_pb2.ListTemplatesRequest())
        for template in answer.templates:
            yield template

    async def audit(self) -> AsyncGenerator[CallAudited, None]:
        """Yields the latest calls that changed something or were refused for their caller, the latest first."""
        async for answer in self._pages(self._stub.ListAudit, gateway_pb2.ListAuditRequest()):
            for call in answer.calls:
                yield call

    async def replay(self, letter: str) -> None:
        """Publishes a dead letter again, by its id."""
        await self._ask(self._stub.ReplayDeadLetter, gateway_pb2.ReplayDeadLetterRequest(id=letter))

    async def replay_all(self, *, cause: str = "", run: str = "") -> int:
        """Publishes the dead letters of this cause and this run again, or all of them; returns their number."""
        request = gateway_pb2.ReplayDeadLettersRequest(cause=cause, run=run)
        answer = await self._ask(self._stub.ReplayDeadLetters, request)
        replayed, most = answer.replayed, answer.replayed + answer.left
        # Letters that fail again meanwhile are not replayed again.
        while answer.left and replayed < most:
            answer = await self._ask(self._stub.ReplayDeadLetters, request)
            replayed += answer.replayed
        return replayed

    async def _ask(self, method: Callable[..., Awaitable[T]], request: Message, seconds: float | None = None) -> T:
        budget = self._budget(seconds or self.deadline_seconds)
        while True:
            try:
                return await method(request, timeout=budget.seconds_left, metadata=self._metadata)
            except grpc.aio.AioRpcError as error:
                await budget.wait(error)

    def _budget(self, seconds: float) -> RetryBudget:
        return RetryBudget(self._gateway, seconds, self.tls, GATEWAY_REFUSALS)

    async def _pages(self, method: Callable[..., Awaitable[Any]], request: Any) -> AsyncGenerator[Any, None]:
        while True:
            answer = await self._ask(method, request)
            yield answer
            if not answer.next_page_token:
                return
            request.page_token = answer.next_page_token

    async def _follow(self, run: str, method: Callable[..., Any], request: Message) -> AsyncGenerator[Any, None]:
        """Yields the messages of a stream, and None each time that a stream opens."""
        seconds = self.deadline_seconds
        while True:
            # Fails at once for an unknown run or an absent gateway; a stream would say so only with its first message.
            await self._ask(self._stub.GetRun, gateway_pb2.GetRunRequest(run=run), seconds)
            seconds = self.away_seconds
            call = method(request, metadata=self._metadata)
            try:
                # A listing that began before the gateway follows would leave a gap.
                await call.initial_metadata()
                yield None
                async for message in call:
                    yield message
                await asyncio.sleep(_REOPEN_SECONDS)
            except grpc.aio.AioRpcError as error:
                await self._budget(seconds).wait(error)
            finally:
                call.cancel()


def _start_request(request_id: str, template: str, **settings: Any) -> gateway_pb2.StartRunRequest:
    request = RunRequest(**settings)
    if not template:
        request.recipe = request.recipe or _RECIPE
    # Generated once for each call, so that a retry starts no second run.
    return gateway_pb2.StartRunRequest(request=request, request_id=request_id or uuid.uuid4().hex, template=template)


class SeenConversations:
    """The conversations that a tail has yielded, so that a reconnected tail repeats none and skips none."""

    def __init__(self) -> None:
        # When each of them finished, of those that may be listed again.
        self._finished: dict[str, float] = {}
        self._latest = 0.0

    def is_unseen(self, finished: FinishedConversation) -> bool:
        """Marks the conversation as seen."""
        if finished.id in self._finished:
            return False
        self._finished[finished.id] = finished.finished_at
        self._latest = max(self._latest, finished.finished_at)
        while self._finished[first := next(iter(self._finished))] < self._latest - _DISORDER_SECONDS:
            del self._finished[first]
        return True

    async def begin(self, listed: AsyncIterator[FinishedConversation]) -> None:
        """Marks the last conversations of a list that begins with the latest: the tail begins after them."""
        async for finished in listed:
            self._latest = self._latest or finished.finished_at
            if finished.finished_at < self._latest - _DISORDER_SECONDS:
                return
            self.is_unseen(finished)

    async def missed(self, listed: AsyncIterator[FinishedConversation]) -> list[FinishedConversation]:
        """Returns the unseen ones of a list that begins with the latest, oldest first."""
        recent, since = [], self._latest - _DISORDER_SECONDS
        async for finished in listed:
            if finished.finished_at < since:
                break
            recent.append(finished)
        return [finished for finished in reversed(recent) if self.is_unseen(finished)]
