"""Counts events into the database, each once: rows and the positions of their topics change in one transaction."""

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from google.protobuf.message import Message
from sqlalchemy import ColumnElement, Connection, delete, func, insert, select, union, update

from soliloquy.runtime.events import END_OF_TIME, ConversationEvent, RunEvent, run_key, run_of
from soliloquy.runtime.stretches import Stretches
from soliloquy.runtime.topics import TOPIC_OF
from soliloquy.runtime.transports.port import Delivery
from soliloquy.v1.events_pb2 import (
    ConversationCollected,
    RunCancelled,
    RunChanged,
    RunHeld,
    RunProgress,
    RunStanding,
    RunStored,
)
from soliloquy.v1.gateway_pb2 import FinishedConversation
from soliloquy.v1.runs_pb2 import RunState
from soliloquy_services.gateway import places
from soliloquy_services.gateway.changes import turned
from soliloquy_services.gateway.collected import is_given_up
from soliloquy_services.gateway.database import Database
from soliloquy_services.gateway.index import Index, kind_of
from soliloquy_services.gateway.lease import Lease, Overtaken
from soliloquy_services.gateway.runs import KnownRun, judged
from soliloquy_services.gateway.webhooks import Outbox

# An event with a longer name is none of ours, and no index would take it.
_LONGEST_NAME = 500
# The rows that one transaction removes.
_FORGOTTEN_AT_ONCE = 5_000
_SERIALISED = ("changed", "progress", "stored", "before", "held")
_COUNTS = ("unfit", "flagged_accepted", "flagged_rejected")
_PLAIN = (*_COUNTS, "owed", "day")
# The columns of a run that each topic fills.
_FILLED: Mapping[type[Message], Sequence[str]] = {
    RunChanged: ("changed",),
    RunStanding: (),
    RunStored: ("stored",),
    RunHeld: ("held",),
    ConversationCollected: ("progress", "before", "day", *_COUNTS),
    RunCancelled: (),
}

Received = Sequence[tuple[Delivery, Message]]


class News(NamedTuple):
    known: KnownRun
    # The latest of its conversations that were counted since, in their order, where somebody follows them.
    finished: Sequence[FinishedConversation]


class Store:
    """Its methods block, as those of the index do: `call` them."""

    def __init__(self, url: str, webhooks: Sequence[str] = ()) -> None:
        """`webhooks` has the URLs that are told of the end of each run."""
        self.database = Database(url)
        self.outbox = Outbox(self.database, webhooks)
        self.index = Index(self.database)
        self.lease = Lease(self.database)
        self.call = self.database.call
        self.open = self.database.open
        self.close = self.database.close

    def news(self, since: int, followed: Mapping[str, int] = {}, most: int = 0) -> Mapping[str, News]:
        """Returns the runs that changed since this revision.

        `followed` has the number of conversations of each followed run that were told before.
        """
        table = self.database["runs"]
        with self.database.reading() as connection:
            changed = self._runs(connection, table.c.revision > since)
            for run, place, ordinal in places.changed(self.database, connection, since):
                changed[run].places[place] = ordinal
            more = {run: judged(changed[run].progress) - followed[run] for run in changed.keys() & followed.keys()}
            return {
                run: News(known, self.index.latest(connection, run, min(more.get(run, 0), most)))
                for run, known in changed.items()
            }

    def change(self, changed: RunChanged, before: RunChanged, *, leads: bool) -> bool:
        """Changes a run that is as it was before; returns False if somebody else has changed it.

        The one who `leads` raises Overtaken if another gateway does.
        """
        run_id = run_key(changed.run)
        with self.database.writing() as connection:
            if leads:
                self.lease.check(connection)
            known = self._known(connection, [run_id])[run_id]
            if known.changed != before:
                return False
            known.changed, known.owed = changed, 1
            self.save(connection, {run_id: known})
            self.outbox.tell(connection, changed, before)
        return True

    def published(self, changed: RunChanged) -> None:
        """Notes that the topic has this change, if it is still the latest."""
        run_id = run_key(changed.run)
        with self.database.writing() as connection:
            known = self._known(connection, [run_id])[run_id]
            if known.changed == changed:
                known.owed = 0
                self.save(connection, {run_id: known})

    def begin(self, kind: type[Message], identity: str) -> dict[int, int]:
        """Returns the next offset of each partition; forgets what another topic of the same name told."""
        positions, topic = self.database["positions"], TOPIC_OF[kind].name
        with self.database.writing() as connection:
            self.lease.check(connection)
            rows = connection.execute(select(positions).where(positions.c.topic == topic)).all()
            if all(row.identity == identity for row in rows):
                return {row.partition: row.next_offset for row in rows}
            connection.execute(delete(positions).where(positions.c.topic == topic))
            nothing = {column: 0 if column in _PLAIN else None for column in _FILLED[kind]}
            revision = self._next(connection)
            connection.execute(update(self.database["runs"]).values({**nothing, "revision": revision}))
            if kind is RunStanding:
                places.empty(self.database, connection, revision)
            if kind is ConversationCollected:
                for table in ("finished", "settled", "enriched"):
                    self.database.empty(connection, table)
        return {}

    def take(
        self, kind: type[Message], identity: str, positions: Mapping[int, int], received: Received
    ) -> dict[int, int]:
        """Counts events of a topic that was read up to these positions, and returns the next ones; raises Overtaken."""
        ends = {delivery.partition.number: delivery.offset + 1 for delivery, _ in received}
        # The writer of an event chose its time.
        messages = [
            (message, min(max(0.0, delivery.event.time), END_OF_TIME - 1))
            for delivery, message in received
            if _has_name(message)
        ]
        with self.database.writing() as connection:
            self.lease.check(connection)
            for number, end in ends.items():
                self._advance(connection, kind, identity, number, positions.get(number), end)
            runs = self._known(connection, {_name(message) for message, _ in messages})
            if kind is RunStanding:
                standings = [message for message, _ in messages if isinstance(message, RunStanding)]
                places.save(self.database, connection, standings, self._next(connection))
            elif kind is ConversationCollected:
                self._collect(connection, messages, runs)
            else:
                for message, at in messages:
                    _tell(runs[_name(message)], message, at)
            self.save(connection, runs)
        return {**positions, **ends}

    def forget(self, run_id: str) -> None:
        """Removes what is left of a deleted run, or some of it where that would take long: repeat it."""
        with self.database.writing() as connection:
            self.lease.check(connection)
            for name, key in (
                ("finished", "place"),
                ("settled", "first"),
                ("enriched", "problem"),
                ("under_way", "place"),
            ):
                table = self.database[name]
                some = select(table.c[key]).where(table.c.run == run_id).limit(_FORGOTTEN_AT_ONCE)
                gone = connection.execute(delete(table).where(table.c.run == run_id, table.c[key].in_(some))).rowcount
                if gone == _FORGOTTEN_AT_ONCE:
                    return
            known = self._known(connection, [run_id])[run_id]
            self.save(connection, {run_id: KnownRun(changed=known.changed, owed=known.owed)})

    def settled(self, run_id: str) -> Stretches:
        """Returns the problems of a run that need no further conversation."""
        settled = self.database["settled"]
        of_run = select(settled.c.first, settled.c.past).where(settled.c.run == run_id).order_by(settled.c.first)
        stretches = Stretches()
        with self.database.reading() as connection:
            for stretch in connection.execute(of_run):
                stretches.update(stretch)
        return stretches

    def _advance(
        self, connection: Connection, kind: type[Message], identity: str, number: int, expected: int | None, end: int
    ) -> None:
        positions = self.database["positions"]
        place = (positions.c.topic == TOPIC_OF[kind].name, positions.c.partition == number)
        row = connection.execute(select(positions.c.identity, positions.c.next_offset).where(*place)).first()
        if (tuple(row) if row else None) != ((identity, expected) if expected is not None else None):
            raise Overtaken(f"{TOPIC_OF[kind].name} is read elsewhere into the same database")
        if row:
            connection.execute(update(positions).where(*place).values(next_offset=end))
        else:
            new = {"topic": TOPIC_OF[kind].name, "partition": number, "identity": identity, "next_offset": end}
            connection.execute(insert(positions), new)

    def _known(self, connection: Connection, names: Iterable[str]) -> dict[str, KnownRun]:
        names = list(names)
        known = self._runs(connection, self.database["runs"].c.run.in_(names))
        return {name: known.get(name) or KnownRun() for name in names}

    def _runs(self, connection: Connection, chosen: ColumnElement[bool]) -> dict[str, KnownRun]:
        return {
            row["run"]: KnownRun(
                changed=RunChanged.FromString(row["changed"] or b""),
                progress=RunProgress.FromString(row["progress"] or b""),
                stored=RunStored.FromString(row["stored"] or b""),
                before=RunProgress.FromString(row["before"] or b""),
                held=RunHeld.FromString(row["held"] or b""),
                **{column: row[column] for column in (*_PLAIN, "revision")},
            )
            for row in connection.execute(select(self.database["runs"]).where(chosen)).mappings()
        }

    def save(self, connection: Connection, runs: Mapping[str, KnownRun]) -> None:
        if not runs:
            return
        table, revision = self.database["runs"], self._next(connection)
        rows = [
            {
                "run": name,
                "revision": revision,
                **{column: getattr(known, column).SerializeToString() for column in _SERIALISED},
                **{column: getattr(known, column) for column in _PLAIN},
            }
            for name, known in runs.items()
        ]
        connection.execute(delete(table).where(table.c.run.in_(list(runs))))
        connection.execute(insert(table), rows)

    def _next(self, connection: Connection) -> int:
        """Returns the next revision: all that write wait for each other."""
        latest = select(func.coalesce(func.max(self.database["runs"].c.revision), 0))
        return int(connection.execute(latest).scalar_one()) + 1

    def _collect(
        self, connection: Connection, messages: Iterable[tuple[Message, float]], runs: Mapping[str, KnownRun]
    ) -> None:
        events = [
            (message, at)
            for message, at in messages
            if isinstance(message, ConversationCollected) and not runs[_name(message)].is_deleted
        ]
        fresh = self.index.add(connection, events)
        uncounted = self._uncounted(connection, [event for event, _ in fresh])
        settled: defaultdict[str, set[int]] = defaultdict(set)
        added: defaultdict[str, Counter[int]] = defaultdict(Counter)
        for event, shown in fresh:
            known = runs[shown.run]
            if not known.is_told:
                known.find(event.conversation.run, shown.finished_at)
            problem = (shown.run, event.summary.enrichment.problem)
            known.begin_day(shown.finished_at)
            known.count(event, enriches=event.summary.HasField("enrichment") and problem in uncounted)
            uncounted.discard(problem)
            added[shown.run][kind_of(shown)] += 1
            if event.accepted or is_given_up(event):
                settled[shown.run].add(shown.ordinal)
        for run_id, ordinals in settled.items():
            self._settle(connection, run_id, ordinals)
        for run_id, kinds in added.items():
            self.index.trim(connection, run_id, runs[run_id], kinds)

    def _uncounted(self, connection: Connection, events: Iterable[ConversationCollected]) -> set[tuple[str, str]]:
        """Notes the problems whose enrichment is to be counted, each with its run."""
        problems = {
            (run_key(event.conversation.run), event.summary.enrichment.problem)
            for event in events
            if event.summary.HasField("enrichment")
        }
        rows = [{"run": run, "problem": problem} for run, problem in problems]
        return self.database.add(connection, "enriched", "problem", rows)

    def _settle(self, connection: Connection, run_id: str, ordinals: set[int]) -> None:
        table = self.database["settled"]
        # The stretches that begin or end beside a new one, not those between: a run in disorder has thousands.
        ends = ordinals | {ordinal + 1 for ordinal in ordinals}
        of_run = select(table.c.first, table.c.past).where(table.c.run == run_id)
        beside = union(of_run.where(table.c.first.in_(ends)), of_run.where(table.c.past.in_(ends)))
        rows = connection.execute(beside).all()
        stretches = Stretches.of(ordinals)
        for row in rows:
            stretches.update(row)
        firsts = [first for first, _ in rows]
        connection.execute(delete(table).where(table.c.run == run_id, table.c.first.in_(firsts)))
        bounds = [{"run": run_id, "first": first, "past": past} for first, past in stretches.pairs()]
        connection.execute(insert(table), bounds)


def _tell(known: KnownRun, message: Message, at: float) -> None:
    match message:
        case RunChanged():
            known.change(message)
        case RunStored():
            known.stored = message
        case RunHeld():
            known.held = message
        case RunCancelled() if known.is_steered:
            # It does not matter who requested it.
            known.change(turned(known, RunState.RUN_STATE_CANCELLED, "", at))


def _name(message: Message) -> str:
    assert isinstance(message, ConversationEvent | RunEvent)
    return run_key(run_of(message))


def _has_name(message: Message) -> bool:
    names = [_name(message)]
    if isinstance(message, ConversationCollected):
        names += [message.conversation.id, message.summary.enrichment.problem]
    return all("\0" not in name and len(name) <= _LONGEST_NAME for name in names)
