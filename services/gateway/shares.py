"""Shares conversations in flight: among tenants by weight, and among the runs of a tenant by priority and order."""

import math
import time
from collections import defaultdict
from collections.abc import Callable, Mapping

from soliloquy.runtime.validated_file import WatchedFile
from soliloquy.v1.events_pb2 import RunProgress
from soliloquy.v1.runs_pb2 import RunState
from soliloquy_services.gateway.quotas import Quota, Quotas
from soliloquy_services.gateway.runs import DAY_SECONDS, KnownRun, RunTable, judged

# Few problems wait for admission: a pause cannot stop those that are submitted.
LEAST_AHEAD = 8
IN_FLIGHT_A_PROBLEM_AHEAD = 4
# How old the shares may be: runs and quotas change.
FRESH_SECONDS = 0.5


class Shares:
    def __init__(
        self,
        runs: RunTable,
        file: WatchedFile[Quotas] | None,
        tell: Callable[[str], None],
        clock: Callable[[], float] = time.time,
    ) -> None:
        """`tell` is called with the id of each run that waits for another reason, or no longer."""
        self._runs = runs
        self._file = file
        self._tell = tell
        self._clock = clock
        self._made_at = -math.inf
        self._shares: dict[str, int] = {}
        # The shares that are less than their runs could use.
        self._limited: dict[str, int] = {}
        # How many conversations of each run may be counted until its tenant has had those of its day.
        self._last: dict[str, float] = {}

    def ahead(self, known: KnownRun) -> int:
        """Returns how many problems of a run may be unsettled."""
        in_flight = known.changed.run.in_flight
        most = in_flight + max(LEAST_AHEAD, in_flight // IN_FLIGHT_A_PROBLEM_AHEAD)
        if self._file is None:
            return most
        quotas = self._file.current
        if not 0 <= self._clock() - self._made_at < FRESH_SECONDS:
            self._make(quotas)
        left = self._last.get(known.id, math.inf) - judged(known.progress)
        share = int(max(0, min(self._shares.get(known.id, 0), left)))
        return int(min(most, left)) if share >= in_flight else share

    def first_held(self, known: KnownRun) -> int | None:
        """Returns the first problem whose conversation is beyond the run's share; None if none is."""
        is_paused = known.changed.state == RunState.RUN_STATE_PAUSED
        share = 0 if is_paused else self._limited.get(known.id)
        beyond = sorted(known.active)[share:] if share is not None else []
        return beyond[0] if beyond else None

    def _make(self, quotas: Quotas) -> None:
        self._made_at = self._clock()
        runs: defaultdict[str, list[KnownRun]] = defaultdict(list)
        for known in self._runs.by_id.values():
            if known.changed.state == RunState.RUN_STATE_RUNNING:
                runs[known.tenant].append(known)
        limits = {tenant: self._limit(tenant, quotas.of(tenant)) for tenant in runs}
        wanted = {tenant: min(limits[tenant][0], sum(map(_wanted, of_it))) for tenant, of_it in runs.items()}
        weights = {tenant: quotas.of(tenant).weight for tenant in runs}
        granted = max_min(math.inf if quotas.in_flight is None else quotas.in_flight, wanted, weights)
        self._shares, self._limited, self._last, waits = {}, {}, {}, dict.fromkeys(self._runs.by_id, "")
        for tenant, of_it in runs.items():
            left = granted[tenant]
            further = (self._left(tenant, quotas.of(tenant).conversations_a_day, judged) - left) / len(of_it)
            for known in sorted(of_it, key=lambda run: (-run.changed.request.priority, run.changed.requested_at)):
                share = self._shares[known.id] = min(_wanted(known), left)
                left -= share
                self._last[known.id] = judged(known.progress) + share + further
                if share < _wanted(known):
                    self._limited[known.id] = share
                    is_limited = granted[tenant] >= limits[tenant][0]
                    others = f"other runs leave it {share:,} conversations in flight for now"
                    waits[known.id] = limits[tenant][1] if is_limited else others
        for run_id, why in waits.items():
            if why != self._runs.by_id[run_id].waits:
                self._runs.by_id[run_id].waits = why
                self._tell(run_id)

    def _limit(self, tenant: str, quota: Quota) -> tuple[float, str]:
        """Returns how many conversations the tenant may have in flight, and the quota that says so."""
        whose = f"the tenant {tenant}" if tenant else "the installation"
        limits: list[tuple[float, str]] = [(math.inf, "")]
        if quota.in_flight is not None:
            limits.append((quota.in_flight, f"{whose} may have {quota.in_flight:,} conversations in flight"))
        for most, unit, measure in (
            (quota.conversations_a_day, "conversations", judged),
            (quota.tokens_a_day, "tokens", _tokens),
            (quota.dollars_a_day, "dollars", self._runs.dollars),
        ):
            if most is not None:
                left = self._left(tenant, most, measure)
                # The conversations in flight are known by their number alone, not by what they will take.
                is_counted = measure is judged
                until = f"{whose} may have {most:,} {unit} a day, and has {left:,.4g} left until midnight UTC"
                limits.append((left if is_counted else math.inf if left else 0, until))
        return min(limits, key=lambda limit: limit[0])

    def _left(self, tenant: str, most: float | None, measure: Callable[[RunProgress], float]) -> float:
        """Returns what the tenant has left of a day."""
        if most is None:
            return math.inf
        today = int(self._clock() // DAY_SECONDS)
        used = [known for known in self._runs.by_id.values() if known.tenant == tenant and known.day == today]
        return max(0.0, most - sum(measure(known.progress) - measure(known.before) for known in used))


def max_min(capacity: float, wanted: Mapping[str, float], weights: Mapping[str, float]) -> dict[str, int]:
    """Returns whole shares by weight; what one does not want is shared by the others."""
    shares = dict.fromkeys(wanted, 0.0)
    left, hungry = capacity, {name for name, want in wanted.items() if want > 0}
    while hungry:
        unit = left / sum(weights[name] for name in hungry)
        full = {name for name in hungry if wanted[name] <= unit * weights[name]}
        for name in full or hungry:
            shares[name] = wanted[name] if full else unit * weights[name]
        left -= sum(shares[name] for name in full)
        hungry = hungry - full if full else set()
    whole = {name: math.floor(share) for name, share in shares.items()}
    over = round(sum(shares.values()) - sum(whole.values()))
    for name in sorted(shares, key=lambda name: (whole[name] - shares[name], name))[:over]:
        whole[name] += 1
    return whole


def _wanted(known: KnownRun) -> int:
    quota = known.quota
    return max(0, min(known.changed.run.in_flight, quota.wanted - quota.settled))


def _tokens(progress: RunProgress) -> int:
    return sum(use.prompt + use.completion for use in progress.tokens.values())
