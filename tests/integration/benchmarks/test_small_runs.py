"""Every benchmark still works, and a table says which figures reach their targets."""

from collections.abc import Iterator
from io import StringIO
from typing import Any

import pytest
from rich.console import Console

from benchmarks.__main__ import NAMES
from benchmarks.everything import RUNS, as_table, figures_of, runs_of


def numbers(figures: Any) -> Iterator[float]:
    match figures:
        case dict():
            for part in figures.values():
                yield from numbers(part)
        case int() | float():
            yield figures


def test_every_benchmark_has_a_small_run_or_says_what_it_needs() -> None:
    assert {*RUNS} == {*NAMES} - {"all"}
    assert all({"small", "thorough", "needs"} & run.keys() for run in RUNS.values())


@pytest.mark.parametrize(
    "arguments",
    [
        *runs_of("small"),
        *(pytest.param(run, marks=pytest.mark.thorough) for run in runs_of("thorough")),
    ],
    ids=lambda arguments: arguments[0],
)
def test_a_small_run_prints_figures(arguments: list[str]) -> None:
    figures = figures_of(arguments)
    assert "failed" not in figures, figures
    assert figures.pop("others") < 1
    assert any(number > 0 for number in numbers(figures))


def test_a_benchmark_that_fails_has_a_row_that_says_why_beside_the_figures_of_the_others() -> None:
    reached = {"name": "jobs", "at_least": 5, "measured": {"median": 7, "min": 6, "max": 8}, "reached": True}
    missed = {"name": "memory", "at_most": 9, "measured": {"median": 10, "min": 10, "max": 10}, "reached": False}
    found = {"sandbox": {"others": 0.37, "targets": [reached, missed]}, "size --x": figures_of(["size", "--x"])}
    shown = StringIO()
    Console(file=shown, width=200).print(as_table(found))
    lines = shown.getvalue().splitlines()
    [first] = [line for line in lines if "sandbox" in line]
    assert all(part in first for part in ("37%", "jobs", "at least 5", "7 (6-8)"))
    assert "missed" not in first
    assert any("memory" in line and "missed" in line for line in lines)
    assert any("size --x" in line and "it ended with status 2" in line for line in lines)
