"""Keeps the state, the progress and the cost of all runs, as their events tell."""

import time
from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from soliloquy.recipes.prompts import changed_in
from soliloquy.runtime.driver import Quota
from soliloquy.runtime.events import run_key
from soliloquy.runtime.model.costs import COST, KINDS, account_cost, total_cost
from soliloquy.runtime.model.settings import Models
from soliloquy.runtime.topics import TOPIC_OF
from soliloquy.v1.conversation_pb2 import Ending
from soliloquy.v1.events_pb2 import (
    ConversationCollected,
    ConversationFinished,
    RunChanged,
    RunHeld,
    RunProgress,
    RunStored,
)
from soliloquy.v1.gateway_pb2 import DatasetState, ListRunsRequest, ListRunsResponse, RunStatus
from soliloquy.v1.runs_pb2 import Run, RunRequest, RunState
from soliloquy_services.gateway.access.tenants import owner_of, sees
from soliloquy_services.gateway.collected import broken_rules, is_given_up
from soliloquy_services.gateway.pace import Pace
from soliloquy_services.gateway.requests import default_name, name_of, page

# The parts of each conversation's summary that a run counts.
_COUNTS = ("turns", "python_turns", "failed_executions", "flags", "verdicts", "unverified")
DAY_SECONDS = 86_400
# Between two changes of a run: the least that a time of our days can tell apart.
LEAST_SECONDS = 1e-6

# The parts of a run that the store holds.
_STORED = (
    *("changed", "progress", "stored", "before", "held"),
    *("unfit", "flagged_accepted", "flagged_rejected", "revision", "owed", "day"),
)

FAULT_OF_INSTALLATION = "a service of the installation has a fault: ask its operator"
OVER = (RunState.RUN_STATE_CANCELLED, RunState.RUN_STATE_FINISHED, RunState.RUN_STATE_SHORT)


@dataclass(kw_only=True, slots=True)
class KnownRun:
    """Events of different topics may come in any order: until a run itself is told, `changed` is empty."""

    changed: RunChanged = field(default_factory=RunChanged)
    progress: RunProgress = field(default_factory=RunProgress)
    unfit: int = 0
    # The conversations with flags, accepted and rejected.
    flagged_accepted: int = 0
    flagged_rejected: int = 0
    # The problems, by ordinal, that have a conversation under way, by place. Of a run that the store tells, the places
    # that changed, with None for one that is free.
    places: dict[int, int | None] = field(default_factory=dict)
    # The problems, by ordinal, that ended among the dead letters.
    dead: frozenset[int] = frozenset()
    pace: Pace = field(default_factory=Pace)
    # The collector's latest word on its dataset.
    stored: RunStored = field(default_factory=RunStored)
    # The latest word to the student.
    held: RunHeld = field(default_factory=RunHeld)
    # The database's count of changes at the latest one of this run, and 1 until its topic has the latest `changed`.
    revision: int = 0
    owed: int = 0
    # The last day, counted from 1970, on which conversations were collected, and the progress before it.
    day: int = 0
    before: RunProgress = field(default_factory=RunProgress)
    # Why it has fewer conversations under way than it asks for; empty if it has not, and where another gateway drives.
    waits: str = ""

    @property
    def is_told(self) -> bool:
        return self.changed.HasField("run")

    @property
    def under_way(self) -> set[int]:
        return {ordinal for ordinal in self.places.values() if ordinal is not None}

    @property
    def active(self) -> set[int]:
        """The problems whose conversations go on, or would if they were not held."""
        return self.under_way - self.dead

    @property
    def first_held(self) -> int | None:
        """The first problem whose conversation waits at its next turn; None if none does."""
        return self.held.first if self.held.HasField("first") else None

    @property
    def kinds(self) -> Sequence[int]:
        """Counts conversations: rejected and accepted ones without flags, then those with flags."""
        flagged = (self.flagged_rejected, self.flagged_accepted)
        return (self.progress.rejected - flagged[0], self.progress.accepted - flagged[1], *flagged)

    @property
    def id(self) -> str:
        return run_key(self.changed.run)

    @property
    def tenant(self) -> str:
        return self.changed.tenant

    @property
    def is_over(self) -> bool:
        return self.changed.state in OVER

    @property
    def is_deleted(self) -> bool:
        return self.changed.state == RunState.RUN_STATE_DELETED

    @property
    def is_steered(self) -> bool:
        """Whether the gateway drives the run."""
        return self.changed.state in (RunState.RUN_STATE_RUNNING, RunState.RUN_STATE_PAUSED)

    @property
    def went_on(self) -> bool:
        """Whether it ended short and has more conversations by now: somebody replayed its dead letters."""
        return not self.is_counted and self.changed.state == RunState.RUN_STATE_SHORT

    @property
    def is_counted(self) -> bool:
        """Whether the collector was told of all conversations that the run has by now."""
        return self.changed.HasField("progress") and judged(self.changed.progress) >= judged(self.progress)

    @property
    def is_stored(self) -> bool:
        """Whether the dataset holds all conversations that the collector was told of."""
        return self.stored.conversations >= judged(self.changed.progress)

    @property
    def loss(self) -> str:
        """Says what the dataset lacks for good; empty if nothing."""
        lost = self.stored.lost
        finished = TOPIC_OF[ConversationFinished].name
        return f"the dataset has lost conversations that {finished} no longer holds: {lost}" if lost else ""

    @property
    def quota(self) -> Quota:
        return Quota(
            conversations=self.changed.request.conversations,
            accepted=self.progress.accepted,
            given_up=self.progress.given_up,
            unfit=self.unfit,
        )

    def change(self, changed: RunChanged) -> None:
        """Takes a later word on the run; what its conversations tell of it comes before none."""
        is_found = changed.state == RunState.RUN_STATE_OPEN
        was_found = self.changed.state == RunState.RUN_STATE_OPEN
        is_later = changed.changed_at >= self.changed.changed_at
        if not self.is_told or (not is_found and (was_found or is_later)):
            self.changed = changed

    def find(self, run: Run, at: float) -> None:
        """Takes a run that was started elsewhere; its request holds what its events tell."""
        request = RunRequest(
            recipe=run.recipe,
            seed=run.seed,
            in_flight=run.in_flight,
            max_turns=run.max_turns,
            max_attempts=run.max_attempts,
            enrich=run.enrich,
        )
        found = RunChanged(run=run, request=request, tenant=owner_of(run), state=RunState.RUN_STATE_OPEN)
        found.requested_at = found.changed_at = at
        self.change(found)

    def begin_day(self, at: float) -> None:
        if (day := int(at // DAY_SECONDS)) > self.day:
            self.day, self.before = day, RunProgress.FromString(self.progress.SerializeToString())

    def count(self, collected: ConversationCollected, *, enriches: bool = False) -> None:
        """Counts a conversation; `enriches` says that the enrichment of its problem is not counted yet."""
        conversation, summary, progress = collected.conversation, collected.summary, self.progress
        if collected.accepted:
            progress.accepted += 1
            self.flagged_accepted += summary.flags > 0
        else:
            progress.rejected += 1
            self.flagged_rejected += summary.flags > 0
        if is_given_up(collected):
            progress.given_up += 1
            self.unfit += conversation.ending == Ending.ENDING_UNFIT
        for count in _COUNTS:
            setattr(progress, count, getattr(progress, count) + getattr(summary, count))
        for rule in broken_rules(collected.reasons):
            progress.reasons[rule] += 1
        for tokens in (summary.tokens, *((summary.enrichment.tokens,) if enriches else ())):
            for role, used in tokens.items():
                total = progress.tokens[role]
                for kind in (*KINDS, COST):
                    setattr(total, kind, getattr(total, kind) + getattr(used, kind))

    def counted(self) -> RunProgress:
        """Returns the progress at the end of the run, or the current one."""
        counted = RunProgress()
        counted.CopyFrom(self.changed.progress if self.is_over else self.progress)
        # The curriculum's last count may arrive after the conversation that finished the run.
        finished = self.changed.state == RunState.RUN_STATE_FINISHED
        counted.under_way = 0 if finished else len(self.places)
        counted.dead_letters = len(self.dead)
        first = self.first_held if self.is_steered else None
        counted.held = 0 if first is None else sum(ordinal >= first for ordinal in self.active)
        return counted


class RunTable:
    """Holds all runs in memory, as the store tells them."""

    def __init__(self, models: Models, faults: Callable[[], Iterable[str]] = tuple) -> None:
        """`models` has the prices; `faults` tells what holds every run up."""
        self._models = models
        self._faults = faults
        self.by_id: dict[str, KnownRun] = {}
        # By the tenant and its own id of the request.
        self._by_request: dict[tuple[str, str], str] = {}
        # Places of runs that are not told yet are among them.
        self._places: defaultdict[str, dict[int, int | None]] = defaultdict(dict)
        # Paces are measured from then on.
        self.read_at = 0.0
        self.revision = -1

    def seen_by(self, tenant: str) -> list[KnownRun]:
        return [known for known in self.by_id.values() if sees(tenant, known.tenant)]

    def name_of(self, request: RunRequest, tenant: str) -> str:
        """Returns the name of a run that begins."""
        return name_of(request, {known.changed.name for known in self.seen_by(tenant)})

    def count(self, state: RunState) -> int:
        return sum(known.changed.state == state for known in self.by_id.values())

    def asked(self, request_id: str, tenant: str) -> KnownRun | None:
        """Returns the run that the tenant started with this request_id."""
        return self.by_id.get(self._by_request.get((tenant, request_id), ""))

    def take(self, run_id: str, stored: KnownRun) -> None:
        """Takes what the store holds of a run."""
        self.revision = max(self.revision, stored.revision)
        places = self._places[run_id]
        places |= stored.places
        for place in [place for place, ordinal in stored.places.items() if ordinal is None]:
            del places[place]
        # Events of other topics may come before the run itself.
        if not stored.is_told:
            return
        if stored.changed.request_id:
            self._by_request[stored.tenant, stored.changed.request_id] = run_id
        known = self.by_id.setdefault(run_id, stored)
        if known is not stored:
            known.pace.add(time.time(), max(0, stored.progress.accepted - known.progress.accepted))
            # Drivers hold on to the run that they know.
            for name in _STORED:
                setattr(known, name, getattr(stored, name))
        known.places = places

    def dead_letters(self, ordinals: Mapping[str, Collection[int]]) -> Iterable[str]:
        """Takes the dead problems by run id; yields the runs whose dead problems changed."""
        for run_id, known in self.by_id.items():
            dead = frozenset(ordinals.get(run_id, ()))
            if dead != known.dead:
                known.dead = dead
                yield run_id

    def page(self, tenant: str, serialised: bytes) -> ListRunsResponse:
        """Takes a serialised ListRunsRequest: with the tenant it is also the key of all who watch this page."""
        request = ListRunsRequest.FromString(serialised)
        there = (known for known in self.seen_by(tenant) if not known.is_deleted)
        chosen = [known for known in there if request.state in (known.changed.state, 0)]
        rows, token = page(
            chosen, lambda known: (known.changed.requested_at, known.id), request.page_size, request.page_token
        )
        return ListRunsResponse(runs=[self.status(known.id) for known in rows], next_page_token=token)

    def status(self, run_id: str, now: float | None = None) -> RunStatus:
        known, now = self.by_id[run_id], time.time() if now is None else now
        changed, progress = known.changed, known.counted()
        grows = changed.state in (RunState.RUN_STATE_RUNNING, RunState.RUN_STATE_OPEN)
        since = max(changed.requested_at, self.read_at)
        rate = known.pace.rate(now, since) if grows else 0.0
        missing = max(0, changed.request.conversations - progress.accepted)
        costs = self._costs(progress)
        # A run that ended for a loss says so itself.
        losses = [known.loss] if known.loss != changed.because else []
        faults = list(self._faults()) if grows else []
        if faults and changed.tenant:
            # It may name what belongs to others.
            faults = [FAULT_OF_INSTALLATION]
        waits = [known.waits] if grows else []
        status = RunStatus(
            id=run_id,
            request=changed.request,
            state=changed.state,
            because="; ".join(filter(None, (changed.because, *losses, *waits, *faults))),
            requested_by=changed.requested_by,
            requested_at=changed.requested_at,
            changed_at=changed.changed_at,
            progress=progress,
            rate=rate,
            eta_seconds=missing / rate if rate and known.pace.foretells(now, since) else 0.0,
            cost=total_cost(costs.values()) or 0.0,
            unpriced=[role for role, cost in costs.items() if cost is None],
            name=changed.name or (default_name(changed.request) if changed.request.problems else run_id),
            model=changed.model,
            dataset=_dataset(known),
            changed_prompts=changed_in(changed.run),
            tenant=changed.tenant,
        )
        status.request.ClearField("prompts")
        return status

    def dollars(self, progress: RunProgress) -> float:
        return total_cost(self._costs(progress).values()) or 0.0

    def _costs(self, progress: RunProgress) -> Mapping[str, float | None]:
        return {
            account: account_cost(self._models, account, {kind: getattr(tokens, kind) for kind in (*KINDS, COST)})
            for account, tokens in sorted(progress.tokens.items())
        }


def _dataset(known: KnownRun) -> DatasetState:
    if known.is_deleted:
        return DatasetState.DATASET_STATE_UNSPECIFIED
    if known.loss:
        return DatasetState.DATASET_STATE_INCOMPLETE
    written = known.is_over and known.is_stored
    return DatasetState.DATASET_STATE_WRITTEN if written else DatasetState.DATASET_STATE_WRITING


def judged(progress: RunProgress) -> int:
    """Counts the conversations that a dataset holds, accepted and rejected."""
    return progress.accepted + progress.rejected


def state_name(state: RunState) -> str:
    """Returns the state as a word, such as "running"."""
    return RunState.Name(state).removeprefix("RUN_STATE_").lower()
