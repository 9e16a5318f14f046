"""A forecast multiplies what known problems took, with the cache and the waiting of a whole run."""

from collections.abc import Mapping

import pytest

from soliloquy.runs.forecast import Taken, Tokens, foretold

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
    counts = {"prompt": prompt, "cached": cached, "completion": 10}
    return Taken(ordinal=ordinal, accepted=accepted, calls=3, tokens={role: counts}, seconds=seconds)


def test_problems_that_give_nothing_are_paid_for_by_those_that_do() -> None:
    found = [taken(), taken(accepted=False)] * 20
    forecast = foretold(found, 1000, 10, cost, together=0)
    assert forecast.calls.expected == 6000
    assert forecast.read.expected == 200_000
    assert forecast.written.expected == 20_000
    assert forecast.dollars
    assert forecast.dollars.expected == pytest.approx(400_000)
    assert forecast.read.low < 200_000 < forecast.read.high


def test_the_cold_cache_of_the_first_problems_says_nothing_of_a_long_run() -> None:
    found = [taken()] * 5 + [taken(cached=80)] * 5
    forecast = foretold(found, 1000, 10, cost, together=5)
    assert forecast.cached.expected == pytest.approx(80_000)
    assert forecast.dollars
    assert forecast.dollars.expected == pytest.approx(1000 * (20 * 2.0 + 80 * 0.5))
    assert foretold(found, 1000, 10, cost, together=10).cached.expected == pytest.approx(40_000)


@pytest.mark.parametrize(("conversations", "in_flight", "seconds"), [(100, 10, 100), (105, 10, 110), (3, 10, 10)])
def test_the_time_is_that_of_as_many_rounds_as_it_takes(conversations: int, in_flight: int, seconds: float) -> None:
    assert foretold([taken()] * 10, conversations, in_flight, cost, together=0).seconds.expected == seconds


def test_a_long_run_goes_on_as_fast_as_it_was_played() -> None:
    found = [taken(seconds=5), taken(seconds=15)] * 5
    forecast = foretold(found, 1_000_000, 100, cost, together=0)
    assert forecast.seconds.expected == pytest.approx(100_000, rel=0.02)


def test_what_has_no_price_is_named_and_not_counted_as_nothing() -> None:
    forecast = foretold([taken(role="unknown")] * 4, 10, 2, cost, together=0)
    assert (forecast.dollars, forecast.unpriced) == (None, ["unknown"])


def test_a_rehearsal_tells_how_long_the_known_problems_are_among_others() -> None:
    found = [taken(ordinal=number) for number in range(4)]
    among = {number: 6.0 if number < 4 else 3.0 for number in range(8)}
    forecast = foretold(found, 1000, 10, cost, together=0, rehearsal=among)
    assert forecast.read.expected == pytest.approx(100_000 * 4.5 / 6)
    assert forecast.seconds.expected == pytest.approx(1000 * 4.5 / 6)
    assert foretold(found, 1000, 10, cost, together=0, rehearsal={0: 6.0}).read.expected == 100_000
