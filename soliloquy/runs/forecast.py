"""Foretells what a run takes, from conversations that were generated before it."""

import random
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from heapq import heapreplace
from itertools import groupby
from operator import attrgetter
from statistics import fmean, quantiles
from typing import TYPE_CHECKING, NamedTuple

from soliloquy.recipes.calls import calls_of_turns
from soliloquy.runtime.model.costs import COST, KINDS, account, total_cost, use_of, waited
from soliloquy.v1.conversation_pb2 import Conversation, EnrichmentUse, ModelCall, Summary
from soliloquy.v1.gateway_pb2 import FinishedConversation, Interval, RunForecast

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
# Tokens and dollars of calls by account and kind, and the number and time of all calls.
Use = Mapping[tuple[str, str], float]
CALLS, SECONDS = ("", "calls"), ("", "seconds")
_NOTHING: Use = {}


class Taken(NamedTuple):
    """The cost of all conversations at one place of a run."""

    ordinal: int
    accepted: bool
    use: Use
    # The cost of enriching their problem, which the numbers above leave out.
    enrichment: Use = _NOTHING
    # How long the problem was in the rehearsal, in calls.
    rehearsed: float = 1.0


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


def _taken(conversations: Sequence[tuple[Conversation, bool]]) -> Taken:
    first, _ = conversations[0]
    asked, planned = [call for one, _ in conversations for call in calls_of_turns(one)], first.problem.enrichment.calls
    return Taken(
        first.ordinal,
        any(accepted for _, accepted in conversations),
        _use_of(asked, sum(call.seconds for call in asked)),
        _use_of(planned, waited(planned)),
    )


def _use_of(calls: Sequence[ModelCall], seconds: float) -> Use:
    tokens = ({(account(one.role, one.endpoint), kind): count for kind, count in use_of(one).items()} for one in calls)
    return _added([{CALLS: len(calls), SECONDS: seconds}, *tokens])


def summarised(found: Iterable[FinishedConversation]) -> list[Taken]:
    """Takes what a gateway keeps of conversations, ordered by problem."""
    return [_of_summaries(list(alike)) for _, alike in groupby(found, key=attrgetter("ordinal"))]


def _of_summaries(found: Sequence[FinishedConversation]) -> Taken:
    return Taken(
        found[0].ordinal,
        any(one.accepted for one in found),
        _added(_as_use(one.summary) for one in found),
        _as_use(found[0].summary.enrichment),
    )


def _as_use(summary: Summary | EnrichmentUse) -> Use:
    tokens = {(name, kind): getattr(used, kind) for name, used in summary.tokens.items() for kind in (*KINDS, COST)}
    return {CALLS: summary.calls, SECONDS: summary.seconds, **tokens}


def foretold(
    found: Sequence[Taken],
    conversations: int,
    in_flight: int,
    cost: Callable[[Tokens], Mapping[str, float | None]],
    *,
    together: int,
    rehearsal: Mapping[int, float] = {},
    problems: int | None = None,
) -> RunForecast:
    """Foretells a run from problems, at least one of them accepted; the first `together` may have found a cold cache.

    A run whose `problems` start over after the last one enriches each of them once.

    A rehearsal says how many calls each of more problems took with another model: ten conversations may by chance be
    long ones, and it tells how long they are among others.
    """
    places = _problems(found, conversations)
    share = min(1.0, (problems or places) / places)
    found = [_with_enrichment(one, share) for one in found]
    if rehearsal and all(one.ordinal in rehearsal for one in found):
        usual = fmean(rehearsal.values())
        found = [one._replace(rehearsed=rehearsal[one.ordinal] / usual) for one in found]
    warm = _with_warm_cache(found, found[together:] or found)
    random_numbers = random.Random(0)
    drawn = [random_numbers.choices(warm, k=len(warm)) for _ in range(_REPETITIONS)]
    samples = [sample for sample in drawn if any(one.accepted for one in sample)]

    def interval(of: Callable[[Sequence[Taken]], float]) -> Interval:
        low, *_, high = quantiles(map(of, samples), n=_BOUNDS)
        return Interval(expected=of(warm), low=low, high=high)

    def total(kind: str) -> Interval:
        return interval(lambda sample: _scale(sample, conversations) * fmean(_count(one, kind) for one in sample))

    def dollars(sample: Sequence[Taken]) -> float:
        known = total_cost(cost(_tokens(_summed(sample))).values()) or 0.0
        return _scale(sample, conversations) / len(sample) * known

    costs = cost(_tokens(_summed(warm)))
    return RunForecast(
        problems=len(found),
        accepted=sum(one.accepted for one in found),
        calls=total("calls"),
        prompt_tokens=total("prompt"),
        cached_tokens=total("cached"),
        completion_tokens=total("completion"),
        seconds=interval(lambda sample: _duration(sample, conversations, in_flight)),
        dollars=None if total_cost(costs.values()) is None else interval(dollars),
        unpriced=[name for name, known in costs.items() if known is None],
    )


def _with_enrichment(one: Taken, share: float) -> Taken:
    """Adds the share of the enrichment that falls to one place of the run."""
    shared = {name: share * count for name, count in one.enrichment.items()}
    return one._replace(use=_added([one.use, shared]), enrichment=_NOTHING)


def _with_warm_cache(found: Sequence[Taken], later: Sequence[Taken]) -> list[Taken]:
    """Gives each account the share of cached tokens that it has among the later ones, if that is higher."""
    of_all, of_later = _tokens(_summed(found)), _tokens(_summed(later))

    def warmed(one: Taken) -> Taken:
        cached = dict[tuple[str, str], float]()
        for name, counts in _tokens(one.use).items():
            sums = max(of_all[name], of_later.get(name, {}), key=_cached_share)
            read = counts.get("prompt", 0.0) / (sums.get("prompt") or 1.0)
            cached |= {(name, kind): read * sums.get(kind, 0.0) for kind in _OF_CACHE}
        return one._replace(use={**one.use, **cached})

    return [warmed(one) for one in found]


def _cached_share(counts: Mapping[str, float]) -> float:
    return counts.get("cached", 0.0) / (counts.get("prompt") or 1.0)


def _problems(sample: Sequence[Taken], conversations: int) -> float:
    """How many problems give so many accepted conversations."""
    return conversations * len(sample) / sum(one.accepted for one in sample)


def _scale(sample: Sequence[Taken], conversations: int) -> float:
    """How many problems as long as these on average make up the run."""
    return _problems(sample, conversations) / fmean(one.rehearsed for one in sample)


def _duration(sample: Sequence[Taken], conversations: int, in_flight: int) -> float:
    """Plays the run: a problem begins when another is settled."""
    problems = round(_problems(sample, conversations))
    played = min(problems, _ROUNDS * in_flight)
    mean = fmean(one.rehearsed for one in sample)
    usual = [one.use[SECONDS] / mean for one in sample]
    lasting = random.Random(played).choices(usual, k=played)
    ends = [0.0] * min(in_flight, played)
    for seconds in lasting:
        heapreplace(ends, ends[0] + seconds)
    return max(ends) + (problems - played) * fmean(usual) / in_flight


def _count(one: Taken, kind: str) -> float:
    return sum(count for (_, each), count in one.use.items() if each == kind)


def _tokens(use: Use) -> Tokens:
    tokens: defaultdict[str, dict[str, float]] = defaultdict(dict)
    for (name, kind), count in use.items():
        if name:
            tokens[name][kind] = count
    return tokens


def _summed(sample: Iterable[Taken]) -> Use:
    return _added(one.use for one in sample)


def _added(many: Iterable[Use]) -> Use:
    sums: defaultdict[tuple[str, str], float] = defaultdict(float)
    for use in many:
        for name, count in use.items():
            sums[name] += count
    return sums
