"""Figures of several rounds become what one quotes, and are held against what they should be."""

from pathlib import Path

from benchmarks import figures
from benchmarks.figures import judged

TARGETS = """
[[target]]
name = "jobs a second"
figure = "load.rate"
at_least = 500

[[target]]
name = "boot to ready: s"
figure = "boot_seconds"
at_most = 2

[[target]]
name = "not measured"
figure = "kills.seconds"
at_most = 1
"""


def test_a_quantile_is_one_of_the_values() -> None:
    values = [float(number) for number in range(100, 0, -1)]
    assert [figures.quantile(values, part) for part in (0.5, 0.99, 1.0)] == [50.0, 99.0, 100.0]
    assert figures.quantile([7.0], 0.99) == 7.0


def test_rounds_become_medians_with_their_lowest_and_highest() -> None:
    rounds = [{"load": {"rate": rate}} for rate in (3.0, 10.0, 4.0)]
    assert figures.merged(rounds) == {"load": {"rate": {"median": 4.0, "min": 3.0, "max": 10.0}}}


def test_a_target_is_held_against_the_median_and_left_out_where_nothing_was_measured(tmp_path: Path) -> None:
    (tmp_path / "targets.toml").write_text(TARGETS, "utf-8")
    measured = {
        "load": {"rate": {"median": 499.0, "min": 450.0, "max": 800.0}},
        "boot_seconds": {"median": 1.9, "min": 1.0, "max": 3.0},
    }
    assert [(target["name"], target["reached"]) for target in judged(measured, tmp_path / "targets.toml")] == [
        ("jobs a second", False),
        ("boot to ready: s", True),
    ]
