"""The rows of finished conversations, as `conversation.collected` tells, and their pages."""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from sqlalchemy import ColumnElement, Connection, Subquery, delete, func, select, union_all

from soliloquy.runtime.events import run_key
from soliloquy.v1.conversation_pb2 import Ending
from soliloquy.v1.dataset_pb2 import Origin
from soliloquy.v1.events_pb2 import ConversationCollected
from soliloquy.v1.gateway_pb2 import (
    FinishedConversation,
    ListConversationsRequest,
    ListConversationsResponse,
    Verdict,
)
from soliloquy_services.gateway.collected import broken_rules
from soliloquy_services.gateway.database import Database
from soliloquy_services.gateway.requests import bad_page_token, checked_size
from soliloquy_services.gateway.runs import KnownRun

# Attempts at problems, and problems that were begun late, are among the rows that are looked through.
_ROWS_A_PROBLEM = 8
# More problems change no forecast.
FIRST_PROBLEMS = 200
# A run has at most so many rows of each kind, the latest, and those of its first problems.
KEPT = 1_000_000
# A search for text, a rule, an ending or a persona reads so many of the latest rows of each kind.
SEARCHED = 100_000
_KINDS = range(4)
_VERDICTS = {Verdict.VERDICT_ACCEPTED: (1,), Verdict.VERDICT_REJECTED: (0,)}
# As many digits as fit every SQLite integer.
PLACE_TOKEN = "[0-9]{1,18}"


@dataclass(frozen=True, kw_only=True, slots=True)
class Entry:
    shown: FinishedConversation
    # The place of the whole conversation in its topic, if the collector announced one.
    origin: Origin | None


class Index:
    """Its methods block: call them in a thread."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def add(
        self, connection: Connection, collected: Iterable[tuple[ConversationCollected, float]]
    ) -> list[tuple[ConversationCollected, FinishedConversation]]:
        """Leaves out conversations that are in the index already, so that no one counts them twice."""
        shown: dict[tuple[str, str], tuple[ConversationCollected, FinishedConversation]] = {}
        for event, at in collected:
            shown.setdefault((run_key(event.conversation.run), event.conversation.id), (event, _shown(event, at)))
        rows = [row_of(event, one) for event, one in shown.values()]
        added = self._database.add(connection, "finished", "id", rows)
        return [found for key, found in shown.items() if key in added]

    def trim(self, connection: Connection, run_id: str, known: KnownRun, added: Mapping[int, int]) -> None:
        """Removes as many old rows of each kind as were added beyond `KEPT`; those of the first problems stay."""
        finished = self._database["finished"]
        for kind, number in added.items():
            if (beyond := min(number, known.kinds[kind] - KEPT)) > 0:
                others = (finished.c.run == run_id, finished.c.kind == kind, finished.c.ordinal >= FIRST_PROBLEMS)
                oldest = select(finished.c.place).where(*others).order_by(finished.c.place).limit(beyond).subquery()
                last = connection.execute(select(func.max(oldest.c.place))).scalar()
                connection.execute(delete(finished).where(*others, finished.c.place <= last))

    def beginning(self, run_id: str) -> list[FinishedConversation]:
        """Returns what finished of the run's first problems, ordered by problem."""
        # Those that came first hold nearly all of them, and a long run is not read whole.
        rows = self._of_kinds(run_id, _KINDS, _ROWS_A_PROBLEM * FIRST_PROBLEMS, latest=False)
        with self._database.reading() as connection:
            places = connection.execute(select(rows.c.place).where(rows.c.ordinal < FIRST_PROBLEMS)).scalars().all()
            shown = self._shown(connection, run_id, places)
        shown.reverse()
        return sorted(shown, key=lambda one: one.ordinal)

    def latest(self, connection: Connection, run_id: str, number: int) -> list[FinishedConversation]:
        """Returns the run's latest conversations, as many as there are of this number, in their order."""
        if number <= 0:
            return []
        rows = self._of_kinds(run_id, _KINDS, number)
        latest = select(rows.c.place).order_by(rows.c.place.desc()).limit(number)
        return self._shown(connection, run_id, connection.execute(latest).scalars().all())[::-1]

    def find(self, run_id: str, conversation_id: str) -> Entry | None:
        finished = self._database["finished"]
        one = select(finished.c.shown, finished.c.origin).where(
            finished.c.run == run_id, finished.c.id == _stored(conversation_id)
        )
        with self._database.reading() as connection:
            if (row := connection.execute(one).first()) is None:
                return None
        shown, origin = row
        return Entry(shown=FinishedConversation.FromString(shown), origin=Origin.FromString(origin) if origin else None)

    def listed(self, request: ListConversationsRequest, known: KnownRun) -> ListConversationsResponse:
        size, token = checked_size(request.page_size), request.page_token
        if token and not re.fullmatch(PLACE_TOKEN, token):
            raise bad_page_token(token)
        # A conversation that breaks a rule is rejected.
        verdicts = _VERDICTS.get(request.verdict, (0,) if request.reason else (0, 1))
        kinds = [verdict + 2 * flagged for verdict in verdicts for flagged in ((1,) if request.flagged else (0, 1))]
        with self._database.reading() as connection:
            labels = [*([request.reason] if request.reason else []), *_labels(request.ending, request.persona)]
            if request.text or labels:
                places = self._searched(connection, request, labels, kinds)
                total = len(places)
                places = [place for place in places if not token or place < int(token)][: size + 1]
            else:
                total = sum(known.kinds[kind] for kind in kinds)
                rows = self._of_kinds(request.run, kinds, size + 1, before=token)
                latest = select(rows.c.place).order_by(rows.c.place.desc()).limit(size + 1)
                places = list(connection.execute(latest).scalars())
            shown = self._shown(connection, request.run, places[:size])
        return ListConversationsResponse(
            conversations=shown,
            next_page_token=str(places[size - 1]) if len(places) > size else "",
            total=total,
        )

    def _shown(self, connection: Connection, run_id: str, places: Sequence[int]) -> list[FinishedConversation]:
        """Returns what the pages show, the latest first."""
        finished = self._database["finished"]
        there = (finished.c.run == run_id, finished.c.kind.in_(_KINDS), finished.c.place.in_(places))
        shown = select(finished.c.shown).where(*there).order_by(finished.c.place.desc())
        return [FinishedConversation.FromString(each) for each in connection.execute(shown).scalars()]

    def _searched(
        self, connection: Connection, request: ListConversationsRequest, labels: Iterable[str], kinds: Sequence[int]
    ) -> list[int]:
        """Returns the places that a text and labels are found at, the latest first."""
        rows = self._of_kinds(request.run, kinds, SEARCHED)
        wanted = [("rules", _listed([label])) for label in labels]
        if request.text:
            wanted.append(("words", request.text.casefold()))
        chosen = [_contains(connection, rows.c[column], _stored(text)) for column, text in wanted]
        return list(connection.execute(select(rows.c.place).where(*chosen).order_by(rows.c.place.desc())).scalars())

    def _of_kinds(
        self, run_id: str, kinds: Sequence[int], most: int, *, before: str = "", latest: bool = True
    ) -> Subquery:
        """Selects so many rows of each kind, which the index has in order: the latest before a place, or the first."""
        finished = self._database["finished"]
        place = finished.c.place
        # Without what the pages show, which is most of a row.
        each = [
            select(place, finished.c.ordinal, finished.c.words, finished.c.rules)
            .where(finished.c.run == run_id, finished.c.kind == kind, *([place < int(before)] if before else []))
            .order_by(place.desc() if latest else place)
            .limit(most)
            .subquery()
            for kind in kinds
        ]
        return union_all(*map(select, each)).subquery()


def _contains(connection: Connection, column: ColumnElement[Any], text: str) -> ColumnElement[bool]:
    find = func.strpos if connection.dialect.name == "postgresql" else func.instr
    return find(column, text) > 0


def _shown(collected: ConversationCollected, at: float) -> FinishedConversation:
    conversation = collected.conversation
    return FinishedConversation(
        id=conversation.id,
        run=run_key(conversation.run),
        ordinal=conversation.ordinal,
        attempt=conversation.attempt,
        ending=conversation.ending,
        accepted=collected.accepted,
        reasons=collected.reasons,
        summary=collected.summary,
        finished_at=at,
    )


def row_of(collected: ConversationCollected, shown: FinishedConversation) -> dict[str, object]:
    return {
        "run": shown.run,
        "id": shown.id,
        "kind": kind_of(shown),
        "ordinal": shown.ordinal,
        "words": _stored(f"{shown.summary.topic}\n{shown.summary.question}".casefold()),
        "rules": _stored(_listed([*broken_rules(shown.reasons), *_labels(shown.ending, shown.summary.persona)])),
        "shown": shown.SerializeToString(),
        "origin": collected.finished.SerializeToString(),
    }


def kind_of(shown: FinishedConversation) -> int:
    return shown.accepted + 2 * (shown.summary.flags > 0)


def _stored(text: str) -> str:
    """PostgreSQL holds every character but this one."""
    return text.replace("\0", "")


def _labels(ending: Ending, persona: str) -> list[str]:
    """Returns what a conversation is found by besides its rules, in a form that no rule has."""
    return [*([f"ending: {Ending.Name(ending)}"] if ending else []), *([f"persona: {persona}"] if persona else [])]


def _listed(labels: Sequence[str]) -> str:
    """Returns labels on lines of their own, so that one is found whole."""
    return "".join(f"\n{label}\n" for label in labels)
