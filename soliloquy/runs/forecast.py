"""Foretells what a run takes, from conversations that were generated before it."""

import random
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from heapq import heapreplace
from itertools import groupby
from operator import attrgetter
from statistics import fmean, quantiles
from typing import TYPE_CHECKING

from soliloquy.recipes.calls import calls_of_turns
from soliloquy.runtime.model.costs import COST, KINDS, account, add_use, total_cost, use_of, waited
from soliloquy.v1.conversation_pb2 import Conversation, ModelCall, TokenUse
from soliloquy.v1.gateway_pb2 import FinishedConversation

if TYPE_CHECKING:
    from soliloquy.dataset.reading import Dataset

# Nine in ten of so many repetitions lie between the bounds; each draws its problems anew from those that are known.
_REPETITIONS = 200
_BOUNDS = 20
# Rounds of a run that are played; a longer one goes on at the same rate.
_ROUNDS = 30
# Tokens of which the cache of a whole run has a share.
_OF_CACHE = ("cached", "cache_write")

Tokens = Mapping[str, Mapping[str, float]]


@dataclass(frozen=True, kw_only=True, slots=True)
class Use:
    calls: float = 0.0
    # By account and kind.
    tokens: Tokens = field(default_factory=dict)
    # The time of the calls that waited for each other.
    seconds: float = 0.0


@dataclass(frozen=True, kw_only=True, slots=True)
class Taken(Use):
    """The cost of all conversations at one place of a run."""

    ordinal: int
    accepted: bool
    # The cost of enriching their problem, which the numbers above leave out.
    enrichment: Use = Use()
    # How long the problem was in the rehearsal, in calls.
    rehearsed: float = 1.0


@dataclass(frozen=True, kw_only=True, slots=True)
class Interval:
    expected: float
    low: float
    high: float


@dataclass(frozen=True, kw_only=True, slots=True)
class Forecast:
    calls: Interval
    read: Interval
    cached: Interval
    written: Interval
    seconds: Interval
    # None if no price is known.
    dollars: Interval | None
    # Accounts without a price.
    unpriced: Sequence[str] = field(default=())


def measured(dataset: "Dataset") -> list[Taken]:
    """Returns what each problem of a dataset took, in the order of the run."""
    # It loads Arrow.
    from soliloquy.dataset.timings import timed, timings_by_id

    times = timings_by_id(dataset.timings())
    both = [(one, accepted) for accepted in (True, False) for one in dataset.conversations(rejected=not accepted)]
    both.sort(key=lambda one: (one[0].ordinal, one[0].attempt))
    return played([(timed(conversation, times.get(conversation.id)), accepted) for conversation, accepted in both])


def played(found: Iterable[tuple[Conversation, bool]]) -> list[Taken]:
    """Takes conversations with whether they were accepted, ordered by problem and attempt."""
    return [_taken(list(alike)) for _, alike in groupby(found, key=lambda one: one[0].ordinal)]


def summarised(found: Iterable[FinishedConversation]) -> list[Taken]:
    """Takes what a gateway keeps of conversations, ordered by problem."""
    return [_of_summaries(list(alike)) for _, alike in groupby(found, key=attrgetter("ordinal"))]


def foretold(
    found: Sequence[Taken],
    conversations: int,
    in_flight: int,
    cost: Callable[[Tokens], Mapping[str, float | None]],
    *,
    together: int,
    rehearsal: Mapping[int, float] = {},
    problems: int | None = None,
) -> Forecast:
    """Foretells a run from problems, at least one of them accepted; the first `together` may have found a cold cache.

    A run whose `problems` start over after the last one enriches each of them once.

    A rehearsal says how many calls each of more problems took with another model: ten conversations may by chance be
    long ones, and it tells how long they are among others.
    """
    places = _problems(found, conversations)
    share = min(1.0, (problems or places) / places)
    found = [_with_enrichment(one, share) for one in found]
    if rehearsal and all(one.ordinal in rehearsal for one in found):
        found = [replace(one, rehearsed=rehearsal[one.ordinal] / fmean(rehearsal.values())) for one in found]
    warm = _with_warm_cache(found, found[together:] or found)
    random_numbers = random.Random(0)
    drawn = [random_numbers.choices(warm, k=len(warm)) for _ in range(_REPETITIONS)]
    samples = [sample for sample in drawn if any(one.accepted for one in sample)]

    def interval(of: Callable[[Sequence[Taken]], float]) -> Interval:
        low, *_, high = quantiles(map(of, samples), n=_BOUNDS)
        return Interval(expected=of(warm), low=low, high=high)

    def total(kind: str) -> Interval:
        return interval(lambda sample: _of_run(sample, conversations, lambda one: _tokens(one, kind)))

    costs = cost(_summed(warm))
    known = total_cost(costs.values())
    return Forecast(
        calls=interval(lambda sample: _of_run(sample, conversations, lambda one: one.calls)),
        read=total("prompt"),
        cached=total("cached"),
        written=total("completion"),
        seconds=interval(lambda sample: _duration(sample, conversations, in_flight)),
        dollars=None
        if known is None
        else interval(
            lambda sample: (
                _scale(sample, conversations) / len(sample) * (total_cost(cost(_summed(sample)).values()) or 0.0)
            )
        ),
        unpriced=[name for name, sum_of in costs.items() if sum_of is None],
    )


def _taken(conversations: Sequence[tuple[Conversation, bool]]) -> Taken:
    first, _ = conversations[0]
    asked, planned = [call for one, _ in conversations for call in calls_of_turns(one)], first.problem.enrichment.calls
    return Taken(
        ordinal=first.ordinal,
        accepted=any(accepted for _, accepted in conversations),
        calls=len(asked),
        tokens=_tokens_of(asked),
        seconds=sum(call.seconds for call in asked),
        enrichment=Use(calls=len(planned), tokens=_tokens_of(planned), seconds=waited(planned)),
    )


def _tokens_of(calls: Iterable[ModelCall]) -> Tokens:
    tokens: defaultdict[str, dict[str, float]] = defaultdict(dict)
    for call in calls:
        add_use(tokens[account(call.role, call.endpoint)], use_of(call))
    return dict(tokens)


def _of_summaries(found: Sequence[FinishedConversation]) -> Taken:
    enrichment = found[0].summary.enrichment
    return Taken(
        ordinal=found[0].ordinal,
        accepted=any(one.accepted for one in found),
        calls=sum(one.summary.calls for one in found),
        tokens=_added(_as_tokens(one.summary.tokens) for one in found),
        seconds=sum(one.summary.seconds for one in found),
        enrichment=Use(calls=enrichment.calls, tokens=_as_tokens(enrichment.tokens), seconds=enrichment.seconds),
    )


def _as_tokens(tokens: Mapping[str, TokenUse]) -> Tokens:
    return {name: {kind: getattr(used, kind) for kind in (*KINDS, COST)} for name, used in tokens.items()}


def _with_enrichment(one: Taken, share: float) -> Taken:
    """Adds the share of the enrichment that falls to one place of the run."""
    shared = {
        name: {kind: share * count for kind, count in used.items()} for name, used in one.enrichment.tokens.items()
    }
    return replace(
        one,
        calls=one.calls + share * one.enrichment.calls,
        tokens=_added([one.tokens, shared]),
        seconds=one.seconds + share * one.enrichment.seconds,
        enrichment=Use(),
    )


def _with_warm_cache(found: Sequence[Taken], later: Sequence[Taken]) -> list[Taken]:
    """Gives each account the share of cached tokens that it has among the later ones, if that is higher."""
    of_all, of_later = _summed(found), _summed(later)

    def used(name: str, counts: Mapping[str, float]) -> dict[str, float]:
        sums = max(of_all[name], of_later.get(name, {}), key=_cached_share)
        read = counts.get("prompt", 0.0) / (sums.get("prompt") or 1.0)
        return {**counts, **{kind: read * sums.get(kind, 0.0) for kind in _OF_CACHE}}

    return [replace(one, tokens={name: used(name, counts) for name, counts in one.tokens.items()}) for one in found]


def _cached_share(counts: Mapping[str, float]) -> float:
    return counts.get("cached", 0.0) / (counts.get("prompt") or 1.0)


def _problems(sample: Sequence[Taken], conversations: int) -> float:
    """How many problems give so many accepted conversations."""
    return conversations * len(sample) / sum(one.accepted for one in sample)


def _of_run(sample: Sequence[Taken], conversations: int, of: Callable[[Taken], float]) -> float:
    return _scale(sample, conversations) * fmean(map(of, sample))


def _scale(sample: Sequence[Taken], conversations: int) -> float:
    """How many problems as long as these on average make up the run."""
    return _problems(sample, conversations) / fmean(one.rehearsed for one in sample)


def _duration(sample: Sequence[Taken], conversations: int, in_flight: int) -> float:
    """Plays the run: a problem begins when another is settled."""
    problems = round(_problems(sample, conversations))
    played = min(problems, _ROUNDS * in_flight)
    usual = [one.seconds / fmean(other.rehearsed for other in sample) for one in sample]
    lasting = random.Random(played).choices(usual, k=played)
    ends = [0.0] * min(in_flight, played)
    for seconds in lasting:
        heapreplace(ends, ends[0] + seconds)
    return max(ends) + (problems - played) * fmean(usual) / in_flight


def _tokens(one: Taken, kind: str) -> float:
    return sum(counts.get(kind, 0.0) for counts in one.tokens.values())


def _summed(sample: Iterable[Taken]) -> Tokens:
    return _added(one.tokens for one in sample)


def _added(many: Iterable[Tokens]) -> Tokens:
    sums: defaultdict[str, dict[str, float]] = defaultdict(dict)
    for tokens in many:
        for name, counts in tokens.items():
            add_use(sums[name], counts)
    return dict(sums)
