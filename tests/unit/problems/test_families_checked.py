"""The checks of families find what they are there for: one thing is wrong, and it is named."""

import re
from pathlib import Path

from soliloquy.problems.bank.bank import load_bank
from soliloquy.problems.bank.checks import faults
from tests.cases import each_case

FALL = "falling_object"
GAS = "heated_gas"
MAGNET = "concept_broken_magnet"


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
