"""What is promised about the problems of users: false ones are refused or stay unverified, good ones are taken."""

import pytest

from benchmarks.brought import BROUGHT, judge, totals
from benchmarks.labelled import Readings

# The least share of the errors that is refused, and the largest that is taken as right. In the fourth set, three
# errors of reasoning hold line by line, and one unit stands behind numbers without units.
SHARES = {"first/": (0.98, 0.0), "second/": (0.98, 0.0), "third/": (0.98, 0.02), "fourth/": (0.86, 0.035)}


@pytest.fixture(scope="module")
def sets() -> dict[str, Readings]:
    return totals(judge(BROUGHT))


@pytest.mark.parametrize("name", SHARES)
def test_errors_are_found_and_hardly_any_is_taken_as_right(sets: dict[str, Readings], name: str) -> None:
    found, (refused, taken_as_right) = sets[name], SHARES[name]
    counts = found.counts
    assert counts["good"] + counts["with an error"] == 300
    assert counts["refused"] >= refused * counts["with an error"], found.faults
    assert counts["taken as right"] <= taken_as_right * counts["with an error"], found.faults
    assert counts["good refused"] <= 0.02 * counts["good"], found.faults
