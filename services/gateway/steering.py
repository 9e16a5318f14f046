"""Starts, pauses, cancels and drives runs, and records each change of their state."""

import asyncio
import logging
import time
from collections.abc import Awaitable, Callable
from contextlib import suppress

from soliloquy.runtime.driver import LOOK_SECONDS, Ending, Quota, drive, shortfall
from soliloquy.runtime.events import EventTooLarge, first_event, run_key
from soliloquy.runtime.seeds import digest
from soliloquy.runtime.stretches import Stretches
from soliloquy.runtime.transports.answering import PAUSE_SECONDS, retry_until_answered
from soliloquy.runtime.transports.port import Transport, Unanswered
from soliloquy.v1.conversation_pb2 import Problem
from soliloquy.v1.events_pb2 import RunCancelled, RunChanged, RunHeld
from soliloquy.v1.gateway_pb2 import StartRunRequest
from soliloquy.v1.runs_pb2 import Run, RunRequest, RunState
from soliloquy_services.gateway.access.access import CALLER
from soliloquy_services.gateway.access.tenants import TENANT
from soliloquy_services.gateway.changes import deleted, turned
from soliloquy_services.gateway.lease import Overtaken
from soliloquy_services.gateway.planning import Planning, Problems
from soliloquy_services.gateway.refusals import Code, Refusal
from soliloquy_services.gateway.requests import validated
from soliloquy_services.gateway.runs import KnownRun, RunTable, state_name
from soliloquy_services.gateway.settings import GatewaySettings
from soliloquy_services.gateway.shares import Shares
from soliloquy_services.gateway.store import Store
from soliloquy_services.gateway.webhooks import Webhooks

_EXECUTION_DIGITS = 8

_log = logging.getLogger(__name__)

# Records that the run changes to a state, and why; without a state it stays as it is, and its counts are final.
Turn = Callable[[RunState | None, str], Awaitable[None]]
LAST_WRITTEN = "the last of its conversations are being written"


class Steering:
    def __init__(
        self,
        runs: RunTable,
        store: Store,
        planning: Planning,
        transport: Transport,
        settings: GatewaySettings,
        look: Callable[[], Awaitable[None]],
        shares: Shares,
    ) -> None:
        """`look` has the runs take what changed in the store."""
        self._runs = runs
        self._store = store
        self._planning = planning
        self._transport = transport
        self._model = str(settings.models.identity()["model"])
        self._most_runs = settings.most_runs
        self._look = look
        self._shares = shares
        self._tasks: asyncio.TaskGroup | None = None
        self._drivers: dict[str, RunDriver] = {}
        self._webhooks = Webhooks(store.outbox, settings.webhooks)
        # A change of state depends on the state before it: one at a time.
        self._writing = asyncio.Lock()

    async def drive_in(self, tasks: asyncio.TaskGroup) -> None:
        """Drives every run that is not over, in tasks of this group, until it is cancelled."""
        self._tasks = tasks
        try:
            for known in self._runs.by_id.values():
                self._drive(known)
            await self._webhooks.send_always()
            await asyncio.Future()
        finally:
            self._tasks = None
            for known in self._runs.by_id.values():
                known.waits = ""

    def hear(self, run_id: str) -> None:
        """Tells the driver of the run that something changed; one that was begun or resumed gets a driver."""
        known = self._runs.by_id.get(run_id)
        if run_id in self._drivers:
            self._drivers[run_id].hear()
        elif known and known.changed.state == RunState.RUN_STATE_RUNNING:
            self._drive(known)

    async def start(self, asked: StartRunRequest) -> tuple[str, bool]:
        """Returns the id of the run, and whether it is new: a second request with the same request_id is a repeat."""
        request, tenant = validated(asked), TENANT.get()
        # Reading a file of problems may take long: the lock is not held meanwhile.
        planned, differ = None, ""
        if self._runs.asked(asked.request_id, tenant) is None:
            # Tenants may choose the same id.
            execution = digest(*([tenant] if tenant else []), asked.request_id)[:_EXECUTION_DIGITS]
            planned = await asyncio.to_thread(self._planning.run, request, execution, tenant)
            differ = await self._planning.differences(self._transport)
        async with self._writing:
            known = self._runs.asked(asked.request_id, tenant)
            is_new = False
            if known is None:
                assert planned, "requests are never forgotten"
                known, is_new = await self._begin(asked.request_id, request, planned, differ)
            elif known.is_deleted:
                was = f"request_id {asked.request_id!r} has started run {known.id}, which is deleted"
                raise Refusal(Code.EXISTS, f"{was}: send another id for another run")
            elif known.changed.request != request:
                raise Refusal(
                    Code.EXISTS,
                    f"request_id {asked.request_id!r} has started run {known.id} with other settings: "
                    "send another id for another run",
                )
        return known.id, is_new

    async def turn(self, known: KnownRun, state: RunState, done: str) -> None:
        """Changes the state of a run; `done` is the participle for the error if the run is over."""
        async with self._writing:
            while known.changed.state != state:
                if not known.is_steered:
                    current = state_name(known.changed.state)
                    raise Refusal(Code.NOT_NOW, f"run {known.id} is {current} and cannot be {done}: start another")
                await self._change(known, turned(known, state, "", time.time()))

    async def delete(self, known: KnownRun) -> None:
        async with self._writing:
            while not known.is_deleted:
                if not known.is_over:
                    current = state_name(known.changed.state)
                    raise Refusal(
                        Code.NOT_NOW, f"run {known.id} is {current} and cannot be deleted: only one that is over can"
                    )
                await self._change(known, deleted(known, time.time()))

    async def revive(self, known: KnownRun) -> None:
        """Continues a run that ended short, because dead letters of it were replayed."""
        async with self._writing:
            while known.changed.state == RunState.RUN_STATE_SHORT:
                await self._change(known, turned(known, RunState.RUN_STATE_RUNNING, "", time.time()))

    async def publish_owed(self) -> None:
        """Publishes the changes of gateways that ended, or had no answer, before they published them."""
        async with self._writing:
            for known in [known for known in self._runs.by_id.values() if known.owed]:
                await self._publish(known)

    async def _begin(self, request_id: str, request: RunRequest, run: Run, because: str) -> tuple[KnownRun, bool]:
        if sum(known.is_steered for known in self._runs.by_id.values()) >= self._most_runs:
            raise Refusal(Code.TOO_MANY, f"{self._most_runs} runs are not over yet: wait for one, or cancel one")
        if run_key(run) in self._runs.by_id:
            raise Refusal(Code.EXISTS, f"request_id {request_id!r} is too like another: send another id")
        now = time.time()
        begun = RunChanged(
            run=run,
            request=request,
            request_id=request_id,
            requested_by=CALLER.get(),
            requested_at=now,
            changed_at=now,
            state=RunState.RUN_STATE_RUNNING,
            because=because,
            name=self._runs.name_of(request, TENANT.get()),
            model=self._model,
            tenant=TENANT.get(),
        )
        # Another gateway may have been asked for the same a moment ago: the run is its then.
        is_new = await self._change(KnownRun(), begun)
        return self._runs.by_id[run_key(run)], is_new

    def _drive(self, known: KnownRun) -> None:
        if not (self._tasks and known.is_steered) or known.id in self._drivers:
            return

        async def turn(state: RunState | None, because: str) -> None:
            is_done = False
            while not (is_done or known.is_over):
                try:
                    async with self._writing:
                        to = known.changed.state if state is None else state
                        changed = turned(known, to, because, time.time(), counted=state is None)
                        is_done = known.is_over or await self._change(known, changed, leads=True)
                except Overtaken:
                    raise
                except Unanswered:
                    await asyncio.sleep(PAUSE_SECONDS)

        async def drive_until_overtaken(driver: RunDriver) -> None:
            with suppress(Overtaken):
                await driver.drive()

        driver = self._drivers[known.id] = RunDriver(
            known, self._store, self._planning, self._transport, turn, self._shares
        )
        driving = self._tasks.create_task(drive_until_overtaken(driver))
        driving.add_done_callback(lambda _: self._drivers.pop(known.id))

    async def _change(self, known: KnownRun, changed: RunChanged, *, leads: bool = False) -> bool:
        """Records the change; returns False if somebody else has changed the run, which is known then."""
        before = known.changed
        is_done = await self._store.call(self._store.change, changed, before, leads=leads)
        await self._look()
        run_id = run_key(changed.run)
        if is_done:
            await self._publish(self._runs.by_id[run_id])
        elif self._runs.by_id.get(run_id, known).changed == before:
            raise Overtaken(f"run {run_id} is not in the database any more: its topic was made anew")
        return is_done

    async def _publish(self, known: KnownRun) -> None:
        """Publishes the latest change, together with the cancellation that all services read."""
        changed = None
        while changed != known.changed:
            changed = known.changed
            events = [first_event(changed, source="gateway", time=changed.changed_at)]
            # No late event of a deleted run has an effect.
            if changed.state in (RunState.RUN_STATE_CANCELLED, RunState.RUN_STATE_DELETED):
                cancelled = RunCancelled(run=changed.run)
                events.insert(0, first_event(cancelled, source="gateway", time=changed.changed_at))
            await self._transport.publish(events)
            await self._store.call(self._store.published, changed)
            # One that was stopped for a while publishes again what others have changed since.
            await self._look()


class RunDriver:
    """Drives one run, as far as the store tells how far it is."""

    def __init__(
        self, known: KnownRun, store: Store, planning: Planning, transport: Transport, turn: Turn, shares: Shares
    ) -> None:
        self._known = known
        self._store = store
        self._planning = planning
        self._transport = transport
        self._turn = turn
        self._shares = shares
        self._changed = asyncio.Event()

    def hear(self) -> None:
        """Tells that something about the run changed."""
        self._changed.set()

    async def drive(self) -> None:
        """Returns when the run is over, or paused because of its problems."""
        changed, run = self._known.changed, self._known.changed.run
        try:
            problems = await asyncio.to_thread(self._planning.problems, changed.request, changed.tenant)
            ending = await drive(
                run, lambda ordinal: _drawn(problems, run.seed, ordinal), self._transport, self, source="gateway"
            )
        except (Refusal, EventTooLarge) as error:
            await self._turn(RunState.RUN_STATE_PAUSED, str(error))
            return
        missing = self.quota.conversations - self.quota.accepted
        if ending is Ending.STUCK:
            because = f"{missing} conversations ended among the dead letters: replay them, and the run goes on"
            await self._turn(RunState.RUN_STATE_SHORT, because)
        elif ending is Ending.SETTLED and missing > 0:
            await self._turn(RunState.RUN_STATE_SHORT, shortfall(self.quota, run.recipe, run.max_attempts))
        elif ending is Ending.SETTLED:
            await self._finish()

    async def _finish(self) -> None:
        """Has the collector write all that it has; a run is finished when its dataset holds every conversation."""
        known = self._known
        while not known.is_over:
            if not known.is_counted:
                await self._turn(None, LAST_WRITTEN)
            elif known.loss:
                await self._turn(RunState.RUN_STATE_SHORT, known.loss)
            elif known.is_stored:
                await self._turn(RunState.RUN_STATE_FINISHED, "")
            else:
                await self.changes(LOOK_SECONDS)

    @property
    def quota(self) -> Quota:
        return self._known.quota

    @property
    def is_stopped(self) -> bool:
        return self._known.is_over

    async def settled_ordinals(self) -> Stretches:
        return await retry_until_answered(lambda: self._store.call(self._store.settled, self._known.id))

    async def ordinals_under_way(self) -> set[int]:
        return self._known.under_way

    def admits(self, ordinal: int, submitted: int) -> bool:
        ahead = self._shares.ahead(self._known)
        return self._known.changed.state == RunState.RUN_STATE_RUNNING and self.quota.admits(ordinal, submitted, ahead)

    async def changes(self, seconds: float) -> bool:
        await self._hold()
        try:
            async with asyncio.timeout(seconds):
                await self._changed.wait()
        except TimeoutError:
            return False
        finally:
            self._changed.clear()
        return True

    async def _hold(self) -> None:
        """Publishes which conversations wait as long as the topic says otherwise: a gateway may write it late."""
        first = self._shares.first_held(self._known)
        if first != self._known.first_held:
            run = self._known.changed.run
            held = RunHeld(run=Run(id=run.id, growing=run.growing), first=first)
            await self._transport.publish([first_event(held, source="gateway", time=time.time())])

    async def is_stuck(self, submitted: int) -> bool:
        known = self._known
        if not known.dead or known.waits or not known.under_way <= known.dead:
            return False
        # Either every problem submitted is dead or settled, or the dead ones take all places and none can begin.
        settled = await self.settled_ordinals()
        dead = {ordinal for ordinal in known.dead if ordinal not in settled}
        return submitted - known.quota.settled <= len(dead) or len(known.under_way) >= known.changed.run.in_flight


def _drawn(problems: Problems, seed: int, ordinal: int) -> Problem:
    """Bad problems of one run pause that run alone."""
    try:
        return problems.problem(seed, ordinal)
    except Exception as error:
        _log.error("problem %d cannot be drawn", ordinal, exc_info=error)
        line = f"problem {ordinal} cannot be drawn ({error}): correct it and resume the run"
        raise Refusal(Code.INVALID, line) from error
