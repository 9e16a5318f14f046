"""Concurrency: one decrease per round with refusals, and the recovery."""

import pytest

from soliloquy.runtime.model.gate import ROUND_SECONDS, ConcurrencyLimit


def refused(limit: ConcurrencyLimit, now: float, *, calls: int = 1, of: int = 1) -> None:
    """So many refusals of so many calls, all at a moment at which the width is used up."""
    for _ in range(of - calls):
        limit.answered()
    for _ in range(calls):
        limit.throttled(in_flight=limit.width(now), now=now)


def stormy(limit: ConcurrencyLimit, share: float, seconds: int) -> int:
    """The width after so many seconds in which that share of a hundred calls a second is refused."""
    for second in range(1, seconds + 1):
        refused(limit, second * ROUND_SECONDS, calls=round(100 * share), of=100)
    return limit.width(seconds * ROUND_SECONDS)


def test_an_endpoint_that_never_complained_gets_all() -> None:
    assert ConcurrencyLimit(256).width(0.0) == 256


def test_a_refusal_cuts_the_width_at_once() -> None:
    limit = ConcurrencyLimit(100)
    refused(limit, 10.0)
    assert limit.width(10.0) == 50


def test_the_cut_is_half_the_share_that_was_refused() -> None:
    limit = ConcurrencyLimit(100)
    refused(limit, 1.0, calls=1, of=1_000)
    refused(limit, 1.5, calls=20, of=99)
    refused(limit, 2.0, calls=1, of=6)
    # Twenty-one refusals of a hundred and five calls since the cut before.
    assert limit.width(2.0) == 90


def test_refusals_of_one_round_cut_once() -> None:
    limit = ConcurrencyLimit(100)
    for moment in range(10):
        limit.throttled(in_flight=100, now=moment * ROUND_SECONDS / 10)
    assert limit.width(0.0) == 50


def test_a_cut_is_of_what_was_in_flight_and_not_of_what_might_have_been() -> None:
    limit = ConcurrencyLimit(256)
    limit.throttled(in_flight=10, now=0.0)
    assert limit.width(0.0) == 5


def test_one_call_is_always_left() -> None:
    assert stormy(ConcurrencyLimit(2), 1.0, 20) == 1


def test_the_width_comes_back_and_stays_a_while_where_it_was_cut() -> None:
    limit = ConcurrencyLimit(200)
    limit.throttled(in_flight=50, now=0.0)
    widths = [limit.width(tenth / 10) for tenth in range(200)]
    assert widths == sorted(widths)
    assert widths[0] == 25
    near = sum(abs(width - 50) <= 2 for width in widths)
    assert near / 10 > 1.0
    assert widths[-1] == 200


@pytest.mark.parametrize(("share", "least", "most"), [(0.05, 150, 256), (0.5, 20, 80), (1.0, 1, 40)])
def test_in_a_lasting_storm_it_settles_by_how_strong_that_is(share: float, least: int, most: int) -> None:
    assert least <= stormy(ConcurrencyLimit(256), share, 60) <= most


def test_after_any_storm_256_calls_are_back_within_six_seconds() -> None:
    limit = ConcurrencyLimit(256)
    stormy(limit, 1.0, 60)
    assert limit.width(60 * ROUND_SECONDS + 6.0) == 256
