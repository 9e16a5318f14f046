"""Every family of every bank keeps what bank/checks.py says that families promise."""

from pathlib import Path

import pytest

from soliloquy.problems.bank.bank import FAMILIES
from soliloquy.problems.bank.checks import faults
from soliloquy.problems.bank.family_file import read_family, read_questions

PATHS = sorted(FAMILIES.glob("*/*/*.toml"))


@pytest.mark.parametrize("draws", [30, pytest.param(100, marks=pytest.mark.thorough)])
@pytest.mark.parametrize("path", PATHS, ids=lambda path: f"{path.parent.parent.name}/{path.stem}")
def test_a_family_keeps_its_promises_over_many_draws(path: Path, draws: int) -> None:
    assert list(faults(path, draws=draws)) == []


def test_a_familys_questions_are_all_found_without_the_rest_of_it() -> None:
    assert [path.name for path in PATHS if read_questions(path) != read_family(path).questions] == []
