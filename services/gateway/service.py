"""The gateway's use cases, shared by HTTP and gRPC: a request in, an answer or a Refusal out."""

import asyncio
import time
from collections.abc import AsyncGenerator, AsyncIterator, Iterable, Sequence
from contextlib import AsyncExitStack, aclosing, asynccontextmanager, suppress
from functools import partial

from soliloquy.recipes.check_report import located_faults
from soliloquy.recipes.recipe import find
from soliloquy.runtime import reading
from soliloquy.runtime.metrics import gauge
from soliloquy.runtime.transports.answering import retry_until_answered
from soliloquy.runtime.transports.port import Transport, Unanswered
from soliloquy.runtime.validated_file import WatchedFile
from soliloquy.v1 import gateway_pb2 as api
from soliloquy.v1.runs_pb2 import RunState
from soliloquy_services.gateway.access.tenants import TENANT, sees
from soliloquy_services.gateway.audit import Audit
from soliloquy_services.gateway.datasets import read_conversation
from soliloquy_services.gateway.dead_letters import MOST_REPLAYED, DeadLetters
from soliloquy_services.gateway.deletion import Deletion
from soliloquy_services.gateway.planning import Planning, former_run, most_alike
from soliloquy_services.gateway.quotas import read_quotas
from soliloquy_services.gateway.refusals import Code, Refusal, answered
from soliloquy_services.gateway.requests import validated
from soliloquy_services.gateway.runs import OVER, KnownRun, RunTable, judged, state_name
from soliloquy_services.gateway.schedules import Schedules
from soliloquy_services.gateway.settings import GatewaySettings
from soliloquy_services.gateway.shares import Shares
from soliloquy_services.gateway.steering import Steering
from soliloquy_services.gateway.store import Store
from soliloquy_services.gateway.templates import Templates
from soliloquy_services.gateway.topics import PipelineState, TopicFollower
from soliloquy_services.gateway.watching import (
    BEAT_SECONDS,
    MOST_KEPT,
    LatestFeed,
    Skipped,
    TailFeed,
    export_runs,
    forget_runs,
)

WATCHERS = gauge("soliloquy_gateway_watchers")
RUNS = gauge("soliloquy_gateway_runs")
# How often dead letters are checked, and the database, where only others could have changed it.
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
        self._store = Store(settings.database, settings.webhooks.urls)
        self.database = self._store.database
        self._letters = DeadLetters(transport, self._sees)
        self.audit = Audit(transport)
        self._pipeline = PipelineState(transport, self._letters)
        self._datasets = settings.datasets
        self._lease = self._store.lease
        self._took = asyncio.Event()
        self._topics = TopicFollower(transport, self._store, self._took.set)
        self._run_feed = LatestFeed(self._runs.status)
        self._list_feed = LatestFeed[tuple[str, bytes], api.ListRunsResponse](lambda key: self._runs.page(*key))
        self._tails = TailFeed[api.FinishedConversation]()
        quotas = WatchedFile(settings.quotas, read_quotas, "quotas") if settings.quotas else None
        shares = Shares(self._runs, quotas, self._tell)
        self._steering = Steering(self._runs, self._store, planning, transport, settings, self._look, shares)
        self._templates = Templates(settings.templates)
        self._schedules = Schedules(self._templates, self._runs, self._steering.start, self.audit.add)
        self._deletion = Deletion(self._runs, self._store, self._steering, self._letters, transport, settings)
        self._model = str(settings.models.identity()["model"])
        self._looking = asyncio.Lock()
        self._ready = asyncio.Event()
        self._stale = "the gateway is still reading the state of its runs"
        self._delay = ""

    @property
    def fault(self) -> str:
        """Why its answers may be stale; empty while they are not."""
        return self._topics.fault or self._stale or self._delay

    @asynccontextmanager
    async def at_work(self) -> AsyncIterator[None]:
        """Shows the runs as they change, and counts their events and drives them in its turn. Raises Failure."""
        async with AsyncExitStack() as closed:
            closed.callback(self._store.close)
            closed.callback(forget_runs)
            await self._open()
            closed.push_async_callback(self._lease.release)
            closed.push_async_callback(self.audit.finish)
            async with asyncio.TaskGroup() as tasks:
                counting = (self._lease.keep(), self._lease.take_turns(self._lead), self._look_always())
                begun = [tasks.create_task(each) for each in counting]
                await self._ready.wait()
                self._runs.read_at = time.time()
                self._export()
                showing = (self._run_feed.publish_changes(), self._list_feed.publish_changes(), self._refresh_always())
                auditing = (self.audit.write_always(), self.audit.follow_always())
                begun += [tasks.create_task(each) for each in (*showing, *auditing)]
                yield
                for task in begun:
                    task.cancel()

    async def _open(self) -> None:
        while True:
            try:
                return await self._store.call(self._store.open)
            except Unanswered as error:
                self._stale = str(error)
            await asyncio.sleep(LOOK_SECONDS)

    async def _lead(self) -> None:
        """Counts events and drives runs, as one gateway at a time does."""
        try:
            await self._topics.catch_up()
            await retry_until_answered(self._look)
            async with asyncio.TaskGroup() as tasks:
                tasks.create_task(self._topics.follow())
                tasks.create_task(self._schedules.start_always())
                await self._steering.drive_in(tasks)
        finally:
            self._topics.fault = ""

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
        run_id, is_new = await self._steering.start(self._templates.applied(request, TENANT.get()))
        return self._runs.status(run_id), is_new

    async def forecast_run(self, request: api.StartRunRequest) -> api.RunForecast:
        asked = validated(self._templates.applied(request, TENANT.get()))
        former = most_alike(self._runs.seen_by(TENANT.get()), asked, self._model)
        told_by = await former_run(former, self._store, self._transport, self._datasets) if former else None
        forecast = await self.planning.forecast(asked, TENANT.get(), told_by)
        forecast.request.CopyFrom(asked)
        forecast.request.ClearField("prompts")
        return forecast

    async def get_run(self, request: api.GetRunRequest) -> api.RunStatus:
        return self._runs.status((await self._known(request.run)).id)

    async def list_runs(self, request: api.ListRunsRequest) -> api.ListRunsResponse:
        return self._runs.page(TENANT.get(), request.SerializeToString())

    def watch_runs(self, request: api.ListRunsRequest) -> AsyncGenerator[api.ListRunsResponse, None]:
        """Yields a page of runs at once, then whenever one of them changes."""
        return self._list_feed.watch((TENANT.get(), request.SerializeToString()))

    async def watch_run(self, request: api.WatchRunRequest) -> AsyncGenerator[api.RunStatus, None]:
        """Yields the status at once, then whenever it changes; ends when the run is over and its dataset written."""
        async with aclosing(self._run_feed.watch((await self._known(request.run)).id)) as statuses:
            async for status in statuses:
                yield status
                if status.state in (*OVER, RunState.RUN_STATE_DELETED) and status.dataset != api.DATASET_STATE_WRITING:
                    return

    async def cancel_run(self, request: api.CancelRunRequest) -> api.RunStatus:
        return await self._turn(request.run, RunState.RUN_STATE_CANCELLED, "cancelled")

    async def pause_run(self, request: api.PauseRunRequest) -> api.RunStatus:
        return await self._turn(request.run, RunState.RUN_STATE_PAUSED, "paused")

    async def resume_run(self, request: api.ResumeRunRequest) -> api.RunStatus:
        return await self._turn(request.run, RunState.RUN_STATE_RUNNING, "resumed")

    async def delete_run(self, request: api.DeleteRunRequest) -> api.RunStatus:
        known = await self._known(request.run, deleted=True)
        await self._steering.delete(known)
        return self._runs.status(known.id)

    async def list_conversations(self, request: api.ListConversationsRequest) -> api.ListConversationsResponse:
        return await self._store.call(self._store.index.listed, request, await self._known(request.run))

    async def get_conversation(self, request: api.GetConversationRequest) -> api.GetConversationResponse:
        run_id = (await self._known(request.run)).id
        entry = await self._store.call(self._store.index.find, run_id, request.conversation)
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

    async def tail_conversations(
        self, request: api.TailConversationsRequest
    ) -> AsyncGenerator[api.FinishedConversation | Skipped, None]:
        """Yields conversations as they finish; a slow reader gets the number of those it missed."""
        async with aclosing(self._tails.follow((await self._known(request.run)).id)) as followed:
            async for one in followed:
                yield one

    async def list_dead_letters(self, request: api.ListDeadLettersRequest) -> api.ListDeadLettersResponse:
        await self._refresh()
        return self._letters.listed(request)

    async def list_dead_letter_causes(self, asked: api.ListDeadLetterCausesRequest) -> api.ListDeadLetterCausesResponse:
        await self._refresh()
        return self._letters.causes(asked)

    async def replay_dead_letter(self, request: api.ReplayDeadLetterRequest) -> api.ReplayDeadLetterResponse:
        await self._refresh(at_once=True)
        if not (chosen := self._letters.chosen(ids=[request.id])):
            raise _no_letter(request.id)
        await self._replay(chosen)
        return api.ReplayDeadLetterResponse()

    async def replay_dead_letters(self, request: api.ReplayDeadLettersRequest) -> api.ReplayDeadLettersResponse:
        await self._refresh(at_once=True)
        chosen = self._letters.chosen(request.run, request.cause)
        if replayed := chosen[:MOST_REPLAYED]:
            await self._replay(replayed)
        return api.ReplayDeadLettersResponse(replayed=len(replayed), left=len(chosen) - len(replayed))

    async def _replay(self, letters: Sequence[api.DeadLetter]) -> None:
        """Tries letters again; a run that ended without them is resumed."""
        runs = {letter.run for letter in letters}
        try:
            await reading.replay(self._transport, [letter.id for letter in letters])
        except reading.NoSuchLetter as error:
            raise _no_letter(error.event_id) from None
        await self._resume_after_replay([self._runs.by_id[run] for run in runs & self._runs.by_id.keys()])

    async def _resume_after_replay(self, runs: Iterable[KnownRun]) -> None:
        """Rereads the dead letters, then resumes runs of which some were replayed."""
        await self._refresh(at_once=True)
        for known in runs:
            await self._steering.revive(known)

    async def get_pipeline(self, request: api.GetPipelineRequest) -> api.Pipeline:
        return await self._pipeline.snapshot()

    async def list_templates(self, request: api.ListTemplatesRequest) -> api.ListTemplatesResponse:
        return self._templates.listed(TENANT.get())

    async def list_audit(self, request: api.ListAuditRequest) -> api.ListAuditResponse:
        return self.audit.listed(request, TENANT.get())

    async def watch_pipeline(self) -> AsyncGenerator[api.Pipeline, None]:
        """Yields a snapshot once a second."""
        while True:
            async with answered():
                snapshot = await self._pipeline.snapshot()
            yield snapshot
            await asyncio.sleep(LOOK_SECONDS)

    async def _turn(self, run_id: str, state: RunState, done: str) -> api.RunStatus:
        await self._steering.turn(await self._known(run_id), state, done)
        return self._runs.status(run_id)

    def _sees(self, run_id: str) -> bool:
        """Whether the current caller sees a run; a run that is not known belongs to the installation."""
        known = self._runs.by_id.get(run_id)
        return sees(TENANT.get(), known.tenant if known else "")

    async def _known(self, run_id: str, *, deleted: bool = False) -> KnownRun:
        """Raises Refusal, also for a run that is deleted unless that is asked for, and for another tenant's."""
        if run_id not in self._runs.by_id:
            # Another gateway may have begun it a moment ago.
            await self._look()
        known = self._runs.by_id.get(run_id)
        if known is None or not self._sees(run_id) or (known.is_deleted and not deleted):
            raise Refusal(Code.UNKNOWN, f"there is no run {run_id[:80]!r}: list the runs")
        return known

    async def _look_always(self) -> None:
        """Shows what the gateway whose turn it is, this one or another, writes into the database."""
        while True:
            if self._ready.is_set() or self._lease.lost.is_set():
                try:
                    await self._look()
                except Unanswered as error:
                    self._stale = str(error)
            with suppress(TimeoutError):
                async with asyncio.timeout(LOOK_SECONDS if self._lease.is_held else BEAT_SECONDS):
                    await self._took.wait()
            self._took.clear()

    async def _look(self) -> None:
        """Takes what changed in the database since the last look."""
        async with self._looking:
            followed = {run: judged(self._runs.by_id[run].progress) for run in self._tails.keys}
            news = await self._store.call(self._store.news, self._runs.revision, followed, MOST_KEPT)
            for run_id, (stored, finished) in news.items():
                self._runs.take(run_id, stored)
                if finished:
                    self._tails.publish_latest(run_id, finished, judged(stored.progress) - followed[run_id])
                self._tell(run_id)
        self._stale = ""
        self._ready.set()

    def _tell(self, run_id: str) -> None:
        self._run_feed.mark_changed(run_id)
        self._list_feed.mark_all_changed()
        self._steering.hear(run_id)

    async def _refresh_always(self) -> None:
        while True:
            try:
                await self._refresh()
                if self._lease.is_held:
                    if runs := [known for known in self._runs.by_id.values() if known.went_on]:
                        await self._resume_after_replay(runs)
                    await self._steering.publish_owed()
                    await self._deletion.go_on()
                self._delay = ""
            except Unanswered as error:
                self._delay = str(error)
            # Two gateways would count each run twice.
            export_runs(self._runs) if self._lease.is_held else forget_runs()
            await asyncio.sleep(LOOK_SECONDS)

    async def _refresh(self, *, at_once: bool = False) -> None:
        await self._letters.refresh(at_once=at_once)
        for run_id in self._runs.dead_letters(self._letters.ordinals):
            self._tell(run_id)


def _no_letter(event_id: str) -> Refusal:
    return Refusal(Code.UNKNOWN, f"no dead letter has the id {event_id[:80]!r}: list them")
