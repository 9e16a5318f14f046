"""How many problems a run begins, and when it is over."""

from soliloquy.runtime.driver import Quota, most_problems


def quota(*, accepted: int = 0, given_up: int = 0, unfit: int = 0) -> Quota:
    return Quota(conversations=5, accepted=accepted, given_up=given_up, unfit=unfit)


def test_a_problem_that_is_no_use_to_the_recipe_is_replaced_beyond_the_limit_but_not_for_ever() -> None:
    assert [most_problems(5, unfit) for unfit in (0, 3, 40, 1_000)] == [10, 13, 50, 50]


def test_no_more_problems_are_submitted_than_are_wanted_and_one_more_for_each_that_is_given_up() -> None:
    assert [quota().admits(ordinal, 0, ahead=100) for ordinal in (4, 5)] == [True, False]
    assert [quota(given_up=2).admits(ordinal, 0, ahead=100) for ordinal in (6, 7)] == [True, False]


def test_no_more_are_submitted_than_so_many_ahead_of_those_that_are_settled() -> None:
    assert [quota(accepted=1).admits(4, submitted, ahead=3) for submitted in (3, 4)] == [True, False]


def test_a_run_is_over_with_all_that_are_wanted_or_when_enough_problems_were_tried() -> None:
    assert not quota(accepted=4, given_up=5).is_over
    assert quota(accepted=5).is_over
    assert quota(accepted=4, given_up=6).is_over
    assert not quota(accepted=4, given_up=6, unfit=1).is_over
