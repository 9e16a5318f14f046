"""Promises of a family's file: a mistake in it is found when it is loaded, not when it is drawn."""

from pathlib import Path

import pytest

from soliloquy.problems.bank.bank import FAMILIES
from soliloquy.problems.bank.family import load_family
from soliloquy.problems.bank.family_file import BadFamily
from soliloquy.truth.number_format import format_number
from tests.cases import each_case

RIGHT = (FAMILIES / "physics" / "mechanics" / "pulled_load.toml").read_text("utf-8")


@each_case
def test_a_mistake_in_a_family_is_named(tmp_path: Path, old: str, changed: str, complaint: str) -> None:
    assert old in RIGHT
    path = tmp_path / "pulled.toml"
    path.write_text(RIGHT.replace(old, changed), "utf-8")
    with pytest.raises(BadFamily, match=complaint):
        load_family(path)


def test_every_value_of_a_range_is_clean(tmp_path: Path) -> None:
    path = tmp_path / "pulled.toml"
    path.write_text(RIGHT.replace("low = 8, high = 60, step = 0.5", "low = 0.1, high = 0.9, step = 0.1"), "utf-8")
    grid = load_family(path).file.given["m"]
    masses = [format_number(grid.value(position)) for position in range(grid.count)]
    assert masses == ["0.1", "0.2", "0.3", "0.4", "0.5", "0.6", "0.7", "0.8", "0.9"]
