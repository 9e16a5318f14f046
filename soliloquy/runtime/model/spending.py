"""Counts what the requests of a run are billed, for all its processes; holds them back when a budget is used up.

A request is on the disk before it is sent. Where its process was killed, or its answer got lost, nobody knows what the
endpoint counted: it then stands among the lost ones, with what it may have cost at most.
"""

import sqlite3
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from soliloquy.runtime.model.costs import COST, KINDS, add_use, bill_of, cost_of
from soliloquy.runtime.model.faults import EndpointRefuses, RetryableFault
from soliloquy.runtime.model.settings import Endpoint
from soliloquy.runtime.retry import CannotServe
from soliloquy.v1.model_pb2 import Completion, Finish, GenerateRequest

# The file's name in the folder of a run.
SPENDING_FILE = "spending.sqlite"
LOST = "lost"
# How long to wait for another process to finish writing.
BUSY_SECONDS = 10.0
# A token of English has four characters on average; hardly any text has fewer than two a token.
_FEWEST_CHARACTERS_A_TOKEN = 2
_NAMES = ("endpoint", "role", "model", "outcome")
# Dollars, and tokens whose price is unknown; a lost request has the most that it may have taken.
_SUMS = ("requests", *KINDS, "dollars", "unpriced")
_TABLES = f"""
CREATE TABLE IF NOT EXISTS billed ({", ".join(_NAMES)}, {", ".join(f"{name} NOT NULL DEFAULT 0" for name in _SUMS)},
    PRIMARY KEY ({", ".join(_NAMES)}));
CREATE TABLE IF NOT EXISTS sent (request INTEGER PRIMARY KEY, endpoint, role, model, tokens, dollars, unpriced);
CREATE TABLE IF NOT EXISTS budget (one INTEGER PRIMARY KEY, dollars, tokens);
"""
_FINISHES = {
    Finish.FINISH_LENGTH: "cut off",
    Finish.FINISH_REFUSAL: "refused",
    Finish.FINISH_FILTER: "filtered",
}


class BudgetUsed(EndpointRefuses):
    """The run may spend no more."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Budget:
    """The most that a run may spend; None is no limit."""

    dollars: float | None = None
    tokens: int | None = None

    @property
    def is_set(self) -> bool:
        return self.dollars is not None or self.tokens is not None

    def __str__(self) -> str:
        limits = [f"{self.dollars:g} USD"] if self.dollars is not None else []
        limits += [f"{self.tokens:,} tokens"] if self.tokens is not None else []
        return " or ".join(limits)

    def is_used(self, dollars: float, tokens: float) -> bool:
        return (self.dollars is not None and dollars >= self.dollars) or (
            self.tokens is not None and tokens >= self.tokens
        )


NO_BUDGET = Budget()


@dataclass(frozen=True, slots=True)
class Spent:
    """Everything that a run was billed so far."""

    dollars: float = 0.0
    tokens: int = 0
    # Tokens whose price is unknown.
    unpriced: int = 0
    requests: int = 0
    # Requests whose answer got lost, and what these may have taken at most; neither is in the sums above.
    lost: int = 0
    lost_dollars: float = 0.0
    lost_tokens: int = 0
    # Requests that are under way, or were when their process ended.
    sent: int = 0


class Spending:
    """One file, shared by the processes of a run. A request takes two writes of 0.1 ms in the event loop.

    The file also holds the requests that are asked in batches: an answer is taken in and billed at once.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        with self.reporting():
            self.file = sqlite3.connect(path, timeout=BUSY_SECONDS, isolation_level=None)
            self.file.execute("PRAGMA journal_mode = WAL")
            # A killed process loses nothing; a power cut may lose the last requests.
            self.file.execute("PRAGMA synchronous = NORMAL")
            self.file.executescript(_TABLES)

    def close(self) -> None:
        self.file.close()

    def limit(self, budget: Budget) -> None:
        with self.reporting():
            self.file.execute("INSERT OR REPLACE INTO budget VALUES (1, ?, ?)", (budget.dollars, budget.tokens))

    def restore(self, accounts: Iterable[Mapping[str, Any]]) -> None:
        """Continues the accounts of a finished run, unless this file has some."""
        with self.transaction():
            if not self.file.execute("SELECT 1 FROM billed").fetchone():
                for row in accounts:
                    self._count(
                        tuple(str(row[name]) for name in _NAMES), {name: row[name] for name in _SUMS if row.get(name)}
                    )

    def give_up(self) -> None:
        """Counts the requests of earlier processes as lost. No other process may have any under way."""
        with self.transaction():
            for request, *row in self.file.execute("SELECT * FROM sent").fetchall():
                self._lose(request, row)

    @property
    def spent(self) -> Spent:
        with self.reporting():
            sums = "TOTAL(dollars), SUM(prompt + completion), SUM(unpriced), SUM(requests)"
            found = self.file.execute(f"SELECT outcome = ?, {sums} FROM billed GROUP BY 1", (LOST,)).fetchall()
            [(sent,)] = self.file.execute("SELECT COUNT(*) FROM sent").fetchall()
        of = {is_lost: sums for is_lost, *sums in found}
        dollars, tokens, unpriced, requests = of.get(False, (0.0, 0, 0, 0))
        lost_dollars, lost_tokens, _, lost = of.get(True, (0.0, 0, 0, 0))
        return Spent(
            dollars, int(tokens), int(unpriced), int(requests), int(lost), lost_dollars, int(lost_tokens), sent
        )

    def accounts(self) -> list[dict[str, Any]]:
        """Returns what was billed by endpoint, role, model and outcome."""
        with self.reporting():
            rows = self.file.execute(f"SELECT * FROM billed ORDER BY {', '.join(_NAMES)}").fetchall()
        return [dict(zip((*_NAMES, *_SUMS), row, strict=True)) for row in rows]

    @contextmanager
    def request(
        self, name: str, endpoint: Endpoint, request: GenerateRequest
    ) -> Iterator[Callable[[Completion], None]]:
        """Counts a request; yields a function that takes its answer. Raises BudgetUsed."""
        model = request.adapter or endpoint.model
        row = (name, request.role, model, *most_of(endpoint, request))
        with self.transaction():
            self.check()
            sent = self.file.execute(
                "INSERT INTO sent (endpoint, role, model, tokens, dollars, unpriced) VALUES (?, ?, ?, ?, ?, ?)", row
            ).lastrowid

        def answered(completion: Completion) -> None:
            nonlocal sent
            with self.transaction():
                self.count_answer((name, request.role, model), endpoint, completion)
                self.file.execute("DELETE FROM sent WHERE request = ?", (sent,))
            sent = None

        try:
            yield answered
        except BaseException as error:
            if sent is not None:
                with self.transaction():
                    if is_free(error):
                        self.file.execute("DELETE FROM sent WHERE request = ?", (sent,))
                    else:
                        self._lose(sent, row)
            raise

    def check(self) -> None:
        """Raises BudgetUsed."""
        for dollars, tokens in self.file.execute("SELECT dollars, tokens FROM budget").fetchall():
            budget, spent = Budget(dollars=dollars, tokens=tokens), self.spent
            if budget.is_used(spent.dollars + spent.lost_dollars, spent.tokens + spent.lost_tokens):
                raise BudgetUsed(f"the budget of {budget} is used up")

    def count_answer(self, names: tuple[str, str, str], endpoint: Endpoint, completion: Completion) -> None:
        """Counts an answer by endpoint, role and model, inside a transaction."""
        outcome = _FINISHES.get(completion.finish, "answered")
        used, cost, unpriced = bill_of(endpoint, completion)
        used.pop(COST, None)
        self._count((*names, outcome), used | {"requests": 1, "dollars": cost, "unpriced": unpriced})

    def count_lost(self, row: Iterable[Any]) -> None:
        """Counts a request by endpoint, role, model and what it took at most, inside a transaction."""
        name, role, model, tokens, dollars, unpriced = row
        most = {"prompt": tokens, "dollars": dollars, "unpriced": unpriced}
        self._count((name, role, model, LOST), {"requests": 1, **most})

    def _lose(self, request: int, row: Any) -> None:
        self.count_lost(row)
        self.file.execute("DELETE FROM sent WHERE request = ?", (request,))

    def _count(self, names: tuple[str, ...], counts: Mapping[str, float]) -> None:
        columns = (*_NAMES, *counts)
        sums = ", ".join(f"{one} = {one} + excluded.{one}" for one in counts)
        self.file.execute(
            f"INSERT INTO billed ({', '.join(columns)}) VALUES ({', '.join('?' * len(columns))}) "
            f"ON CONFLICT DO UPDATE SET {sums}",
            (*names, *counts.values()),
        )

    @contextmanager
    def transaction(self) -> Iterator[None]:
        with self.reporting():
            self.file.execute("BEGIN IMMEDIATE")
            try:
                yield
            except BaseException:
                self.file.execute("ROLLBACK")
                raise
            self.file.execute("COMMIT")

    @contextmanager
    def reporting(self) -> Iterator[None]:
        try:
            yield
        except (OSError, sqlite3.Error) as error:
            raise CannotServe(f"{self._path} cannot be written ({error}): make room, run it again") from error


def summed(accounts: Iterable[Mapping[str, Any]]) -> dict[str, Any]:
    """Returns the sums of accounts, apart from what requests may have taken whose answers got lost."""
    answered: dict[str, Any] = dict.fromkeys(_SUMS, 0)
    lost = {"requests": 0, "tokens": 0, "dollars": 0.0}
    for row in accounts:
        if row["outcome"] == LOST:
            add_use(lost, {"requests": row["requests"], "tokens": row["prompt"], "dollars": row["dollars"]})
        else:
            add_use(answered, {name: row[name] for name in _SUMS})
    return answered | {"lost": lost}


def billed(
    spending: Spending | None, name: str, endpoint: Endpoint, request: GenerateRequest
) -> AbstractContextManager[Callable[[Completion], None]]:
    """Counts a request as `Spending.request` does; without an account nothing is counted."""
    return spending.request(name, endpoint, request) if spending else nullcontext(lambda _: None)


def is_free(error: BaseException) -> bool:
    """Whether an endpoint that failed in this way bills nothing."""
    return (
        isinstance(error, Exception)
        and not isinstance(error, TimeoutError)
        and not (isinstance(error, RetryableFault) and error.may_be_billed)
    )


def most_of(endpoint: Endpoint, request: GenerateRequest) -> tuple[float, float, float]:
    """Returns the most tokens that a request takes, their dollars, and the tokens whose price is unknown."""
    characters = sum(len(message.text) for message in request.messages) + len(request.schema)
    samples = 1 + len(request.more_seeds)
    most: dict[str, float] = {
        "prompt": characters // _FEWEST_CHARACTERS_A_TOKEN,
        "completion": samples * request.sampling.max_tokens,
    }
    tokens, cost = sum(most.values()), cost_of(endpoint, most)
    return tokens, cost or 0.0, tokens if cost is None else 0
