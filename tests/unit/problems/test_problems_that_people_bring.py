"""What is promised about the problems of users: false ones are refused or stay unverified, good ones are taken."""

import pytest

from benchmarks.brought import BROUGHT, judge, kinds
from benchmarks.labelled import Readings, total

# The least share of the errors that reading refuses, the largest that it takes as right, and the least that is found
# with independent programs. The fifth set has taught the reader little: most errors that it takes as right are errors
# of reasoning, which hold line by line. `benchmarks brought` counts the other two sets.
SHARES = {
    "second": (0.98, 0.0, 0.99),
    "fourth": (0.85, 0.035, 0.94),
    "fifth": (0.64, 0.1, 0.95),
}
# In these each line says which number is false.
NUMBERED = ("sixth", "seventh", "eighth", "ninth")


@pytest.fixture(scope="module")
def sets() -> dict[str, Readings]:
    names = (*SHARES, *NUMBERED)
    return {name: total(judge(BROUGHT / name).values()) for name in names}


@pytest.mark.parametrize("name", SHARES)
def test_errors_are_found_and_hardly_any_is_taken_as_right(sets: dict[str, Readings], name: str) -> None:
    found, (refused, taken_as_right, with_programs) = sets[name], SHARES[name]
    counts = found.counts
    assert counts["good"] + counts["with an error"] >= 240
    assert counts["refused"] >= refused * counts["with an error"], found.faults
    assert counts["taken as right"] <= taken_as_right * counts["with an error"], found.faults
    assert counts["with programs"] >= with_programs * counts["with an error"], found.faults
    assert counts["good refused"] <= 0.02 * counts["good"], found.faults


@pytest.mark.parametrize("name", NUMBERED)
def test_no_good_problem_is_refused_for_the_sources_of_its_numbers(sets: dict[str, Readings], name: str) -> None:
    assert sets[name].counts["good"] >= 16
    assert sets[name].counts["good refused"] == 0, sets[name].faults


def test_nearly_every_planted_error_of_each_kind_is_told() -> None:
    found = kinds(BROUGHT)
    for kind, told in {"nowhere": 0.95, "other": 0.95, "sum": 0.95, "unit": 0.93, "answer": 0.95}.items():
        both = total(found[f"{name}: {kind}"] for name in NUMBERED).counts
        assert both["with an error"] >= 20
        assert both["told"] >= told * both["with an error"], kind
