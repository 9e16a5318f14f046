"""The gateway's use cases, shared by HTTP and gRPC: a request in, an answer or a Refusal out."""

import asyncio
import time
from collections.abc import AsyncGenerator, AsyncIterator, Iterable, Sequence
from contextlib import ExitStack, aclosing, asynccontextmanager
from functools import partial

from soliloquy.recipes.check_report import located_faults
from soliloquy.recipes.recipe import find
from soliloquy.runtime import reading
from soliloquy.runtime.metrics import gauge
from soliloquy.runtime.transports.port import Transport, Unanswered
from soliloquy.v1 import gateway_pb2 as api
from soliloquy.v1.runs_pb2 import RunState
from soliloquy_services.gateway.datasets import read_conversation
from soliloquy_services.gateway.dead_letters import MOST_REPLAYED, DeadLetters
from soliloquy_services.gateway.planning import Planning, former_run, most_alike
from soliloquy_services.gateway.refusals import Code, Refusal, answered
from soliloquy_services.gateway.requests import validated
from soliloquy_services.gateway.runs import OVER, KnownRun, RunTable, state_name
from soliloquy_services.gateway.settings import GatewaySettings
from soliloquy_services.gateway.steering import Steering
from soliloquy_services.gateway.store import Store, Taken
from soliloquy_services.gateway.topics import PipelineState, TopicFollower
from soliloquy_services.gateway.watching import LatestFeed, Skipped, TailFeed, export_runs, forget_runs

WATCHERS = gauge("soliloquy_gateway_watchers")
RUNS = gauge("soliloquy_gateway_runs")
# How often dead letters are checked.
LOOK_SECONDS = 1.0


class Gateway:
    """Answers calls while `at_work` is open; those who call bound the wait by `answered`."""

    def __init__(
        self, transport: Transport, planning: Planning, settings: GatewaySettings, faults: Sequence[str] = ()
    ) -> None:
        """`faults` holds at any moment what keeps other processes from serving."""
        self._transport = transport
        self.planning = planning
        self._faults = faults
        self._runs = RunTable(settings.models, self._every_fault)
        self._store = Store(settings.database)
        self._letters = DeadLetters(transport)
        self._pipeline = PipelineState(transport, self._letters)
        self._datasets = settings.datasets
        self._topics = TopicFollower(transport, self._store, self._take)
        self._run_feed = LatestFeed(self._runs.status)
        self._list_feed = LatestFeed(self._runs.page)
        self._tails = TailFeed[api.FinishedConversation]()
        self._steering = Steering(self._runs, self._store, planning, transport, settings, self._tell)
        self._model = str(settings.models.identity()["model"])
        self._delay = "the gateway is still reading the state of its runs"

    @property
    def fault(self) -> str:
        """Why its answers may be stale; empty while they are not."""
        return self._topics.fault or self._delay

    @asynccontextmanager
    async def at_work(self) -> AsyncIterator[None]:
        """Reads what came since the last time, then follows events and drives its runs. Raises Failure."""
        with ExitStack() as closed:
            closed.callback(self._store.close)
            closed.callback(forget_runs)
            await self._topics.catch_up()
            self._runs.read_at = time.time()
            self._delay = ""
            self._export()
            async with asyncio.TaskGroup() as tasks:
                publishing = (self._run_feed.publish_changes(), self._list_feed.publish_changes())
                always = (self._topics.follow(), *publishing, self._refresh_always())
                following = [tasks.create_task(each) for each in always]
                self._steering.drive_in(tasks)
                yield
                self._steering.stop()
                for task in following:
                    task.cancel()

    def _every_fault(self) -> Iterable[str]:
        # Processes that use the same topic report the same fault.
        return filter(None, dict.fromkeys((self._transport.fault, *self._faults)))

    def _export(self) -> None:
        WATCHERS.set_function(lambda: self._run_feed.readers + self._list_feed.readers + self._tails.readers)
        for state in (RunState.RUN_STATE_RUNNING, RunState.RUN_STATE_PAUSED, *OVER):
            RUNS.labels(state_name(state)).set_function(partial(self._runs.count, state))

    async def start_run(self, request: api.StartRunRequest) -> api.RunStatus:
        return (await self.begin_run(request))[0]

    async def begin_run(self, request: api.StartRunRequest) -> tuple[api.RunStatus, bool]:
        """Returns also whether this very call began the run."""
        run_id, is_new = await self._steering.start(request)
        return self._runs.status(run_id), is_new

    async def forecast_run(self, request: api.StartRunRequest) -> api.RunForecast:
        asked = validated(request)
        former = most_alike(self._runs.by_id.values(), asked, self._model)
        told_by = await former_run(former, self._store, self._transport, self._datasets) if former else None
        forecast = await self.planning.forecast(asked, told_by)
        forecast.request.CopyFrom(asked)
        forecast.request.ClearField("prompts")
        return forecast

    async def get_run(self, request: api.GetRunRequest) -> api.RunStatus:
        return self._runs.status(self._known(request.run).id)

    async def list_runs(self, request: api.ListRunsRequest) -> api.ListRunsResponse:
        return self._runs.page(request.SerializeToString())

    def watch_runs(self, request: api.ListRunsRequest) -> AsyncGenerator[api.ListRunsResponse, None]:
        """Yields a page of runs at once, then whenever one of them changes."""
        return self._list_feed.watch(request.SerializeToString())

    async def watch_run(self, request: api.WatchRunRequest) -> AsyncGenerator[api.RunStatus, None]:
        """Yields the status at once, then whenever it changes; ends when the run is over and its dataset written."""
        async with aclosing(self._run_feed.watch(self._known(request.run).id)) as statuses:
            async for status in statuses:
                yield status
                if status.state in OVER and status.dataset != api.DatasetState.DATASET_STATE_WRITING:
                    return

    async def cancel_run(self, request: api.CancelRunRequest) -> api.RunStatus:
        return await self._turn(request.run, RunState.RUN_STATE_CANCELLED, "cancelled")

    async def pause_run(self, request: api.PauseRunRequest) -> api.RunStatus:
        return await self._turn(request.run, RunState.RUN_STATE_PAUSED, "paused")

    async def resume_run(self, request: api.ResumeRunRequest) -> api.RunStatus:
        return await self._turn(request.run, RunState.RUN_STATE_RUNNING, "resumed")

    async def list_conversations(self, request: api.ListConversationsRequest) -> api.ListConversationsResponse:
        return await self._store.call(self._store.index.listed, request, self._known(request.run))

    async def get_conversation(self, request: api.GetConversationRequest) -> api.GetConversationResponse:
        entry = await self._store.call(self._store.index.find, self._known(request.run).id, request.conversation)
        if entry is None:
            raise Refusal(
                Code.UNKNOWN,
                f"run {request.run} has no finished conversation {request.conversation[:80]!r}: list its conversations",
            )
        conversation = await read_conversation(entry, self._transport, self._datasets)
        judged = find(conversation.run.recipe).judge(conversation)
        return api.GetConversationResponse(
            conversation=conversation,
            accepted=entry.shown.accepted,
            reasons=entry.shown.reasons,
            flags=[
                api.Flag(turn=turn, claim=rule, evidence=said) for turn, rule, said in located_faults(judged.faults)
            ],
        )

    def tail_conversations(
        self, request: api.TailConversationsRequest
    ) -> AsyncGenerator[api.FinishedConversation | Skipped, None]:
        """Yields conversations as they finish; a slow reader gets the number of those it missed."""
        return self._tails.follow(self._known(request.run).id)

    async def list_dead_letters(self, request: api.ListDeadLettersRequest) -> api.ListDeadLettersResponse:
        await self._refresh()
        return self._letters.listed(request)

    async def list_dead_letter_causes(self, asked: api.ListDeadLetterCausesRequest) -> api.ListDeadLetterCausesResponse:
        await self._refresh()
        return self._letters.causes(asked)

    async def replay_dead_letter(self, request: api.ReplayDeadLetterRequest) -> api.ReplayDeadLetterResponse:
        await self._replay([request.id])
        return api.ReplayDeadLetterResponse()

    async def replay_dead_letters(self, request: api.ReplayDeadLettersRequest) -> api.ReplayDeadLettersResponse:
        await self._refresh(at_once=True)
        chosen = [letter.id for letter in self._letters.chosen(request.run, request.cause)]
        if replayed := chosen[:MOST_REPLAYED]:
            await self._replay(replayed)
        return api.ReplayDeadLettersResponse(replayed=len(replayed), left=len(chosen) - len(replayed))

    async def _replay(self, letters: Sequence[str]) -> None:
        """Tries letters again; a run that ended without them is resumed."""
        runs = self._letters.runs_of(letters)
        try:
            await reading.replay(self._transport, letters)
        except reading.NoSuchLetter as error:
            raise Refusal(Code.UNKNOWN, f"no dead letter has the id {error.event_id[:80]!r}: list them") from None
        await self._resume_after_replay([self._runs.by_id[run] for run in runs & self._runs.by_id.keys()])

    async def _resume_after_replay(self, runs: Iterable[KnownRun]) -> None:
        """Rereads the dead letters, then resumes runs of which some were replayed."""
        await self._refresh(at_once=True)
        for known in runs:
            await self._steering.revive(known)

    async def get_pipeline(self, request: api.GetPipelineRequest) -> api.Pipeline:
        return await self._pipeline.snapshot()

    async def watch_pipeline(self) -> AsyncGenerator[api.Pipeline, None]:
        """Yields a snapshot once a second."""
        while True:
            async with answered():
                snapshot = await self._pipeline.snapshot()
            yield snapshot
            await asyncio.sleep(LOOK_SECONDS)

    async def _turn(self, run_id: str, state: RunState, done: str) -> api.RunStatus:
        await self._steering.turn(self._known(run_id), state, done)
        return self._runs.status(run_id)

    def _known(self, run_id: str) -> KnownRun:
        if (known := self._runs.by_id.get(run_id)) is None:
            raise Refusal(Code.UNKNOWN, f"there is no run {run_id[:80]!r}: list the runs")
        return known

    def _take(self, taken: Taken) -> None:
        for run_id, stored in taken.runs.items():
            self._runs.take(run_id, stored, taken.told)
            self._tell(run_id)
        for shown in taken.finished:
            if shown.accepted:
                self._runs.by_id[shown.run].pace.add(shown.finished_at)
            self._tails.publish(shown.run, shown)

    def _tell(self, run_id: str) -> None:
        self._run_feed.mark_changed(run_id)
        self._list_feed.mark_all_changed()
        self._steering.hear(run_id)

    async def _refresh_always(self) -> None:
        while True:
            try:
                await self._refresh()
                if runs := [known for known in self._runs.by_id.values() if known.went_on]:
                    await self._resume_after_replay(runs)
                await self._store.call(self._store.check)
                self._delay = ""
            except Unanswered as error:
                self._delay = str(error)
            export_runs(self._runs)
            await asyncio.sleep(LOOK_SECONDS)

    async def _refresh(self, *, at_once: bool = False) -> None:
        await self._letters.refresh(at_once=at_once)
        for run_id in self._runs.dead_letters(self._letters.ordinals):
            self._tell(run_id)
