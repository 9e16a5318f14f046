"""Tells a Kafka that has lost its data what the datasets hold, so that their runs are known again and go on."""

import time
from collections import Counter
from collections.abc import AsyncGenerator, AsyncIterator, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice

from soliloquy.dataset.layout import TABLES
from soliloquy.dataset.reading import Dataset, NoDataset
from soliloquy.dataset.record import records
from soliloquy.runtime.events import first_event, run_key
from soliloquy.runtime.reading import messages
from soliloquy.runtime.stretches import Stretches
from soliloquy.runtime.topics import TOPIC_OF
from soliloquy.runtime.transports.port import Transport
from soliloquy.v1.events_pb2 import ConversationCollected, RunChanged, RunStanding
from soliloquy.v1.runs_pb2 import RunState

_AT_ONCE = 256
_SOURCE = "recovery"


@dataclass(frozen=True, kw_only=True, slots=True)
class Recovered:
    run: str
    # The latest known one; unspecified for a run that the gateway did not start.
    state: RunState
    accepted: int = 0
    rejected: int = 0
    # The problems that get another attempt at once.
    again: int = 0


async def recover(store: str, transport: Transport) -> AsyncGenerator[Recovered, None]:
    """Publishes each run that the topics do not know; after a kill, a repeat goes on.

    At the end, tables belong to the installation of this transport.

    No service may run meanwhile: the gateway and the curriculum read these topics when they start.
    """
    known = set()
    told: Counter[str] = Counter()
    async for _, changed in messages(transport.read(TOPIC_OF[RunChanged].name)):
        assert isinstance(changed, RunChanged)
        known.add(run_key(changed.run))
    async for _, collected in messages(transport.read(TOPIC_OF[ConversationCollected].name)):
        assert isinstance(collected, ConversationCollected)
        told[run_key(collected.conversation.run)] += 1
    for name, record in records(store):
        dataset = _dataset(f"{store}/{name}")
        if record is None and dataset and told[name] >= dataset.count() + dataset.count(rejected=True):
            # The gateway knows a run that it did not start by its conversations.
            continue
        if name not in known and (record or dataset):
            yield await _Recovery(name, record, dataset, transport).recover()
    if store.startswith(TABLES):
        _hand_over(store, transport.installation)


def _hand_over(store: str, installation: str) -> None:
    from soliloquy.dataset.iceberg.tables import Location, Tables, attempt, claim

    location = Location.parsed(store)
    tables = Tables.opened(location)
    attempt(location, lambda: claim(tables.conversations, installation))


def _dataset(place: str) -> Dataset | None:
    """Returns None for a run without conversations; a dataset that is damaged is read to its fault."""
    try:
        return Dataset(place)
    except NoDataset:
        return None


class _Recovery:
    """Recovers one run."""

    def __init__(self, name: str, record: RunChanged | None, dataset: Dataset | None, transport: Transport) -> None:
        self._name = name
        self._record = record
        self._dataset = dataset
        self._transport = transport

    async def recover(self) -> Recovered:
        accepted: set[int] = set()
        rejected = 0
        async for one in self._published(self._verdicts(rejected=False)):
            accepted.add(one.conversation.ordinal)
        due = self._attempts_due(accepted)
        begun = Stretches.of(accepted)
        async for one in self._published(self._told_again(due)):
            rejected += 1
            begun.add(one.conversation.ordinal)
        record = self._record
        # The gateway knows a run by its record: a kill before it repeats the others.
        last: list[RunStanding | RunChanged] = [record] if record else []
        if record and due:
            last.insert(0, RunStanding(run=record.run, under_way=sorted(due), begun=begun))
        await self._publish(last)
        state = record.state if record else RunState.RUN_STATE_UNSPECIFIED
        return Recovered(run=self._name, state=state, accepted=len(accepted), rejected=rejected, again=len(due))

    def _verdicts(self, *, rejected: bool) -> Iterator[ConversationCollected]:
        from soliloquy_services.collector.handler import verdict

        if self._dataset is None:
            return
        reasons = self._dataset.rejections() if rejected else {}
        for conversation in self._dataset.conversations(rejected=rejected):
            run = conversation.run
            # Rows leave out what differs between executions of the same run.
            run.growing = self._name.removeprefix(run.id).removeprefix("-")
            run.in_flight = self._record.run.in_flight if self._record else 0
            yield verdict(conversation, reasons.get(conversation.id, ()))

    def _attempts_due(self, accepted: set[int]) -> dict[int, int]:
        """Maps the problems of which another attempt is due to their last attempts."""
        from soliloquy_services.gateway.collected import is_given_up
        from soliloquy_services.gateway.runs import OVER

        if self._record is None or self._record.state in OVER:
            return {}
        last: dict[int, int] = {}
        given_up: set[int] = set()
        for one in self._verdicts(rejected=True):
            ordinal, attempt = one.conversation.ordinal, one.conversation.attempt
            last[ordinal] = max(attempt, last.get(ordinal, 0))
            if is_given_up(one):
                given_up.add(ordinal)
        return {ordinal: attempt for ordinal, attempt in last.items() if ordinal not in accepted | given_up}

    def _told_again(self, due: dict[int, int]) -> Iterator[ConversationCollected]:
        for one in self._verdicts(rejected=True):
            if due.get(one.conversation.ordinal) != one.conversation.attempt:
                # Without its problem it counts, and starts no other attempt.
                one.conversation.ClearField("problem")
            yield one

    async def _published(self, verdicts: Iterator[ConversationCollected]) -> AsyncIterator[ConversationCollected]:
        while group := list(islice(verdicts, _AT_ONCE)):
            await self._publish(group)
            for one in group:
                yield one

    async def _publish(self, told: Sequence[ConversationCollected | RunStanding | RunChanged]) -> None:
        await self._transport.publish([first_event(one, source=_SOURCE, time=time.time()) for one in told])
