"""What is promised about the problems of users: false calculations are found, good problems are taken."""

from benchmarks.brought import BROUGHT, judge


def test_errors_are_found_and_good_problems_are_taken() -> None:
    files = judge(BROUGHT).values()
    wrong = [line for file in files for line in file.wrong]
    assert sum(file.planted_refused for file in files) >= 0.98 * sum(file.planted for file in files), wrong
    assert sum(file.good_refused for file in files) <= 0.02 * sum(file.good for file in files), wrong
