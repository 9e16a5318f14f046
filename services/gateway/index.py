"""Indexes finished conversations, as `conversation.collected` tells, and lists them in pages."""

import re
import sqlite3
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from soliloquy.runtime.events import run_key
from soliloquy.v1.dataset_pb2 import Origin
from soliloquy.v1.events_pb2 import ConversationCollected
from soliloquy.v1.gateway_pb2 import (
    FinishedConversation,
    ListConversationsRequest,
    ListConversationsResponse,
    Verdict,
)
from soliloquy_services.gateway.requests import bad_page_token, checked_size
from soliloquy_services.gateway.runs import broken_rules, is_given_up

_SCHEMA = Path(__file__).with_name("finished.sql").read_text("utf-8")
# In pages of 4 KiB; further pages go to a private temporary file.
_CACHE_PAGES = 16_000
# Attempts at problems, and problems that were begun late, are among the rows that are looked through.
_ROWS_A_PROBLEM = 8
_VERDICTS = {Verdict.VERDICT_ACCEPTED: True, Verdict.VERDICT_REJECTED: False}
# As many digits as fit every SQLite integer.
PLACE_TOKEN = "[0-9]{1,18}"


@dataclass(frozen=True, kw_only=True, slots=True)
class Entry:
    shown: FinishedConversation
    # The place of the whole conversation in its topic, if the collector announced one.
    origin: Origin | None


class Index:
    """Uses bounded memory; each start of the gateway fills it again."""

    def __init__(self) -> None:
        # A temporary database: it stays in memory up to the size of the cache, and closing it removes it.
        self._rows = sqlite3.connect("", isolation_level=None)
        self._rows.execute("PRAGMA journal_mode = OFF")
        self._rows.execute("PRAGMA synchronous = OFF")
        self._rows.execute(f"PRAGMA cache_size = {_CACHE_PAGES}")
        self._rows.executescript(_SCHEMA)
        # The transaction is never committed: nobody else reads it, and commits would dominate the cost.
        self._rows.execute("BEGIN")
        # Counts by run, acceptance and flags.
        self._counts: Counter[tuple[str, bool, bool]] = Counter()

    def close(self) -> None:
        self._rows.close()

    def add(self, collected: ConversationCollected, at: float) -> FinishedConversation | None:
        """Returns None for a conversation that is in the index already, so that no one counts it twice."""
        conversation = collected.conversation
        shown = FinishedConversation(
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
        row = (
            shown.run,
            shown.id,
            shown.ordinal,
            shown.accepted,
            shown.accepted or is_given_up(collected),
            shown.summary.flags > 0,
            f"{shown.summary.topic}\n{shown.summary.question}".casefold(),
            _listed(broken_rules(shown.reasons)),
            shown.SerializeToString(),
            collected.finished.SerializeToString(),
        )
        inserted = self._rows.execute(
            "INSERT OR IGNORE INTO finished VALUES (NULL, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)", row
        ).rowcount
        if not inserted:
            return None
        self._counts[shown.run, shown.accepted, shown.summary.flags > 0] += 1
        return shown

    def settled(self, run_id: str) -> set[int]:
        """Returns the problems of a run that need no further conversation."""
        rows = self._rows.execute("SELECT ordinal FROM finished WHERE run = ? AND settles", (run_id,))
        return {ordinal for (ordinal,) in rows}

    def beginning(self, run_id: str, problems: int) -> list[FinishedConversation]:
        """Returns what finished of the run's first problems, ordered by problem."""
        # Those that came first hold nearly all of them, and a long run is not read whole.
        rows = self._rows.execute(
            "SELECT shown FROM (SELECT place, ordinal, shown FROM finished WHERE run = ? ORDER BY place LIMIT ?)"
            " WHERE ordinal < ? ORDER BY ordinal, place",
            (run_id, _ROWS_A_PROBLEM * problems, problems),
        )
        return [FinishedConversation.FromString(shown) for (shown,) in rows]

    def find(self, run_id: str, conversation_id: str) -> Entry | None:
        row = self._rows.execute(
            "SELECT shown, origin FROM finished WHERE run = ? AND id = ?", (run_id, conversation_id)
        ).fetchone()
        if row is None:
            return None
        shown, origin = row
        return Entry(shown=FinishedConversation.FromString(shown), origin=Origin.FromString(origin) if origin else None)

    def listed(self, request: ListConversationsRequest) -> ListConversationsResponse:
        size, token = checked_size(request.page_size), request.page_token
        if token and not re.fullmatch(PLACE_TOKEN, token):
            raise bad_page_token(token)
        conditions, values = _conditions(request)
        where = " AND ".join(conditions)
        total = self._total(request, where, values)
        if token:
            where, values = f"{where} AND place < ?", [*values, int(token)]
        rows = self._rows.execute(
            f"SELECT place, shown FROM finished WHERE {where} ORDER BY place DESC LIMIT ?", [*values, size + 1]
        ).fetchall()
        return ListConversationsResponse(
            conversations=[FinishedConversation.FromString(shown) for _, shown in rows[:size]],
            next_page_token=str(rows[size - 1][0]) if len(rows) > size else "",
            total=total,
        )

    def _total(self, request: ListConversationsRequest, where: str, values: Sequence[object]) -> int:
        """Counts the conversations on all pages; only a search for text or a rule has to read the rows."""
        if request.text or request.reason:
            ((total,),) = self._rows.execute(f"SELECT count(*) FROM finished WHERE {where}", values)
            return int(total)
        verdicts = [accepted for verdict, accepted in _VERDICTS.items() if request.verdict in (verdict, 0)]
        flags = (True,) if request.flagged else (True, False)
        return sum(self._counts[request.run, accepted, flagged] for accepted in verdicts for flagged in flags)


def _conditions(request: ListConversationsRequest) -> tuple[Sequence[str], list[object]]:
    conditions, values = ["run = ?"], list[object]([request.run])
    if request.verdict:
        conditions.append("accepted = ?")
        values.append(_VERDICTS.get(request.verdict))
    if request.flagged:
        conditions.append("flagged")
    if request.text:
        conditions.append("instr(words, ?)")
        values.append(request.text.casefold())
    if request.reason:
        conditions.append("instr(rules, ?)")
        values.append(_listed([request.reason]))
    return conditions, values


def _listed(rules: Sequence[str]) -> str:
    """Returns the rules on lines of their own, so that one is found whole."""
    return "".join(f"\n{rule}\n" for rule in rules)
