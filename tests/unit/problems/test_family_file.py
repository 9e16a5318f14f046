"""Promises of a family's file: a mistake in it is found when it is loaded, not when it is drawn."""

import re
from pathlib import Path

import pytest

from soliloquy.problems.bank.bank import FAMILIES, load_bank
from soliloquy.problems.bank.checks import faults
from soliloquy.problems.bank.family import load_family
from soliloquy.problems.bank.family_file import BadFamily, read_family, read_questions
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


def changed(name: str, old: str, new: str, folder: Path) -> Path:
    text = load_bank("physics").files[name].read_text("utf-8")
    assert old in text
    path = folder / "physics" / "topic" / f"{name}.toml"
    path.parent.mkdir(parents=True)
    path.write_text(text.replace(old, new), "utf-8")
    return path


@each_case
def test_a_broken_promise_is_named(family: str, old: str, new: str, fault: str, tmp_path: Path) -> None:
    found = list(faults(changed(family, old, new, tmp_path), draws=60))
    assert any(re.search(fault, one) for one in found), found


PATHS = sorted(FAMILIES.glob("*/*/*.toml"))


@pytest.mark.parametrize("draws", [20, pytest.param(100, marks=pytest.mark.thorough)])
@pytest.mark.parametrize("path", PATHS, ids=lambda path: f"{path.parent.parent.name}/{path.stem}")
def test_a_family_keeps_its_promises_over_many_draws(path: Path, draws: int) -> None:
    assert list(faults(path, draws=draws)) == []


def test_a_familys_questions_are_all_found_without_the_rest_of_it() -> None:
    assert [path.name for path in PATHS if read_questions(path) != read_family(path).questions] == []
