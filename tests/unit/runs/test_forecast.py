"""A forecast multiplies what known problems took, with the cache and the waiting of a whole run."""

from collections.abc import Mapping

import pytest

from soliloquy.runs.forecast import CALLS, SECONDS, Taken, Tokens, foretold, played, summarised
from soliloquy.v1.conversation_pb2 import Conversation, EnrichmentUse, Summary, TokenUse
from soliloquy.v1.gateway_pb2 import FinishedConversation

PRICES = {"prompt": 2.0, "cached": 0.5}


def cost(tokens: Tokens) -> Mapping[str, float | None]:
    return {
        name: None
        if name == "unknown"
        else PRICES["prompt"] * (used["prompt"] - used.get("cached", 0)) + PRICES["cached"] * used.get("cached", 0)
        for name, used in tokens.items()
    }


def taken(
    *,
    ordinal: int = 0,
    prompt: float = 100,
    cached: float = 0,
    seconds: float = 10,
    accepted: bool = True,
    role: str = "tutor",
) -> Taken:
    counts = {(role, "prompt"): prompt, (role, "cached"): cached, (role, "completion"): 10}
    return Taken(ordinal, accepted, {CALLS: 3, SECONDS: seconds, **counts})


def test_problems_that_give_nothing_are_paid_for_by_those_that_do() -> None:
    found = [taken(), taken(accepted=False)] * 20
    forecast = foretold(found, 1000, 10, cost, together=0)
    assert forecast.calls.expected == 6000
    assert forecast.prompt_tokens.expected == 200_000
    assert forecast.completion_tokens.expected == 20_000
    assert forecast.dollars.expected == pytest.approx(400_000)
    assert forecast.prompt_tokens.low < 200_000 < forecast.prompt_tokens.high


def test_the_cold_cache_of_the_first_problems_says_nothing_of_a_long_run() -> None:
    found = [taken()] * 5 + [taken(cached=80)] * 5
    forecast = foretold(found, 1000, 10, cost, together=5)
    assert forecast.cached_tokens.expected == pytest.approx(80_000)
    assert forecast.dollars.expected == pytest.approx(1000 * (20 * 2.0 + 80 * 0.5))
    assert foretold(found, 1000, 10, cost, together=10).cached_tokens.expected == pytest.approx(40_000)


@pytest.mark.parametrize(("conversations", "in_flight", "seconds"), [(100, 10, 100), (105, 10, 110), (3, 10, 10)])
def test_the_time_is_that_of_as_many_rounds_as_it_takes(conversations: int, in_flight: int, seconds: float) -> None:
    assert foretold([taken()] * 10, conversations, in_flight, cost, together=0).seconds.expected == seconds


def test_a_long_run_goes_on_as_fast_as_it_was_played() -> None:
    found = [taken(seconds=5), taken(seconds=15)] * 5
    forecast = foretold(found, 1_000_000, 100, cost, together=0)
    assert forecast.seconds.expected == pytest.approx(100_000, rel=0.02)


def test_what_has_no_price_is_named_and_not_counted_as_nothing() -> None:
    forecast = foretold([taken(role="unknown")] * 4, 10, 2, cost, together=0)
    assert (forecast.HasField("dollars"), list(forecast.unpriced)) == (False, ["unknown"])


def test_a_rehearsal_tells_how_long_the_known_problems_are_among_others() -> None:
    found = [taken(ordinal=number) for number in range(4)]
    among = {number: 6.0 if number < 4 else 3.0 for number in range(8)}
    forecast = foretold(found, 1000, 10, cost, together=0, rehearsal=among)
    assert forecast.prompt_tokens.expected == pytest.approx(100_000 * 4.5 / 6)
    assert forecast.seconds.expected == pytest.approx(1000 * 4.5 / 6)
    assert foretold(found, 1000, 10, cost, together=0, rehearsal={0: 6.0}).prompt_tokens.expected == 100_000


def test_problems_that_start_over_are_enriched_once_each() -> None:
    planning = {CALLS: 2, SECONDS: 5, ("planner", "prompt"): 100, ("planner", "completion"): 1}
    found = [taken(ordinal=number)._replace(enrichment=planning) for number in range(10)]
    for problems, times in ((None, 1000), (2000, 1000), (10, 10)):
        forecast = foretold(found, 1000, 10, cost, together=0, problems=problems)
        assert forecast.prompt_tokens.expected == pytest.approx(1000 * 100 + times * 100)
        assert forecast.calls.expected == pytest.approx(1000 * 3 + times * 2)
        assert forecast.seconds.expected == pytest.approx((1000 * 10 + times * 5) / 10)


def test_a_conversation_and_its_summary_tell_the_enrichment_apart() -> None:
    conversation = Conversation(ordinal=3)
    conversation.problem.enrichment.calls.add(role="planner", prompt_tokens=100, completion_tokens=1, seconds=5)
    conversation.turns.add().calls.add(role="tutor", prompt_tokens=7, completion_tokens=2, seconds=2)
    summary = Summary(tokens={"tutor": TokenUse(prompt=7, completion=2)}, calls=1, seconds=2)
    summary.enrichment.MergeFrom(
        EnrichmentUse(tokens={"planner": TokenUse(prompt=100, completion=1)}, calls=1, seconds=5)
    )
    from_record, from_summary = (
        foretold(found, 1, 1, cost, together=0, problems=1)
        for found in (
            played([(conversation, True)]),
            summarised([FinishedConversation(ordinal=3, accepted=True, summary=summary)]),
        )
    )
    assert from_record == from_summary
    assert (from_record.prompt_tokens.expected, from_record.seconds.expected) == (107, 7)
