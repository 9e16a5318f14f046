"""Exports the latest runs, each with what was counted of it from Kafka: a restart of the gateway resets nothing."""

import time

from prometheus_client import Gauge

from soliloquy.runtime.instruments import gauge
from soliloquy.v1.gateway_pb2 import RunStatus
from soliloquy_services.gateway.runs import KnownRun, RunTable, state_name

# Each takes some eight series.
MOST = 50

INFO = gauge("soliloquy_run_info")
CONVERSATIONS = gauge("soliloquy_run_conversations")
WANTED = gauge("soliloquy_run_wanted")
ETA = gauge("soliloquy_run_eta_seconds")
TOKENS = gauge("soliloquy_run_tokens")
COST = gauge("soliloquy_run_cost")
CHANGED = gauge("soliloquy_run_changed_timestamp_seconds")

_Series = tuple[Gauge, tuple[str, ...]]


class RunMetrics:
    def __init__(self, runs: RunTable) -> None:
        self._runs = runs
        self._exported: set[_Series] = set()

    def update(self, now: float | None = None) -> None:
        """Exports the runs as they are; those that are no longer among the latest end."""
        now = time.time() if now is None else now
        values: dict[_Series, float] = {}
        for known in self._latest():
            values |= _values(self._runs.status(known.id, now))
        for instrument, labels in self._exported - values.keys():
            instrument.remove(*labels)
        for (instrument, labels), value in values.items():
            instrument.labels(*labels).set(value)
        self._exported = set(values)

    def close(self) -> None:
        for instrument, labels in self._exported:
            instrument.remove(*labels)
        self._exported.clear()

    def _latest(self) -> list[KnownRun]:
        """Returns the runs that the gateway drives before all others."""
        latest = sorted(self._runs.by_id.values(), key=lambda known: (known.is_steered, known.changed.changed_at))
        return latest[-MOST:]


def _values(status: RunStatus) -> dict[_Series, float]:
    run, progress = status.id, status.progress
    values: dict[_Series, float] = {
        (INFO, (run, status.name, status.requested_by, state_name(status.state))): 1,
        (CONVERSATIONS, (run, "accepted")): progress.accepted,
        (CONVERSATIONS, (run, "rejected")): progress.rejected,
        (TOKENS, (run,)): sum(used.completion for used in progress.tokens.values()),
        (COST, (run,)): status.cost,
        (CHANGED, (run,)): status.changed_at,
    }
    if status.request.conversations:
        values[WANTED, (run,)] = status.request.conversations
    if status.eta_seconds:
        values[ETA, (run,)] = status.eta_seconds
    return values
