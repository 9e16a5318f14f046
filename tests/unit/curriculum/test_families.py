"""Every family of every bank keeps what bank/checks.py says that families promise."""

from pathlib import Path

import pytest

from services.curriculum.bank.bank import FAMILIES
from services.curriculum.bank.checks import faults

DRAWS = 200
PATHS = sorted(FAMILIES.glob("*/*/*.toml"))


@pytest.mark.parametrize("path", PATHS, ids=lambda path: f"{path.parent.parent.name}/{path.stem}")
def test_a_family_keeps_its_promises_over_hundreds_of_draws(path: Path) -> None:
    assert list(faults(path, draws=DRAWS)) == []
