"""What is promised about the problems of users: false calculations are found, good problems are taken."""

import pytest

from benchmarks.brought import BROUGHT, Judged, judge, totals


@pytest.fixture(scope="module")
def sets() -> dict[str, Judged]:
    return totals(judge(BROUGHT))


@pytest.mark.parametrize("name", ["first/", "second/", "third/"])
def test_errors_are_found_and_good_problems_are_taken(sets: dict[str, Judged], name: str) -> None:
    found = sets[name]
    assert found.good + found.planted == 300
    assert found.planted_refused >= 0.98 * found.planted, found.wrong
    assert found.good_refused <= 0.02 * found.good, found.wrong
