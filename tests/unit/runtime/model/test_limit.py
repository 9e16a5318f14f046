"""How many calls at once: a cut for each round of refusals, and the way back."""

from services.runtime.model.limit import CUT, Limit


def cut(limit: Limit, now: float, times: int = 1) -> None:
    for _ in range(times):
        limit.throttled(in_flight=limit.width(now), began=now, now=now)
        now += 0.001


def test_an_endpoint_that_never_complained_gets_all() -> None:
    assert Limit(256).width(0.0) == 256


def test_a_refusal_cuts_the_width_at_once() -> None:
    limit = Limit(100)
    cut(limit, 10.0)
    assert limit.width(10.0) == round(100 * CUT)


def test_what_began_before_a_cut_cuts_no_more() -> None:
    limit = Limit(100)
    limit.throttled(in_flight=100, began=1.0, now=2.0)
    for now in (2.0, 2.1, 2.2):
        limit.throttled(in_flight=99, began=1.5, now=now)
    assert limit.width(2.0) == 70


def test_a_cut_is_of_what_was_in_flight_and_not_of_what_might_have_been() -> None:
    limit = Limit(256)
    limit.throttled(in_flight=10, began=0.0, now=0.0)
    assert limit.width(0.0) == 7


def test_one_call_is_always_left() -> None:
    limit = Limit(8)
    cut(limit, 0.0, times=50)
    assert limit.width(0.05) == 1


def test_the_width_comes_back_and_stays_a_while_where_it_was_cut() -> None:
    limit = Limit(200)
    limit.throttled(in_flight=50, began=0.0, now=0.0)
    widths = [limit.width(tenth / 10) for tenth in range(200)]
    assert widths == sorted(widths)
    assert widths[0] == 35
    near = sum(abs(width - 50) <= 2 for width in widths)
    assert near / 10 > 2.0
    assert widths[-1] == 200


def test_from_one_call_to_256_takes_less_than_eight_seconds_of_peace() -> None:
    limit = Limit(256)
    cut(limit, 0.0, times=50)
    assert limit.width(0.05) == 1
    assert limit.width(8.0) == 256
