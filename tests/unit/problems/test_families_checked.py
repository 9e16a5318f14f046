"""The checks of families find what they are there for: one thing is wrong, and it is named."""

import re
from pathlib import Path

import pytest

from soliloquy.problems.bank.bank import load_bank
from soliloquy.problems.bank.checks import faults

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


@pytest.mark.parametrize(
    ("family", "old", "new", "fault"),
    [
        (FALL, "From a tower, a {thing}", "From a tower, a {ting}", r"leaves out \['thing'\]"),
        (FALL, "How fast is a {thing}", "How fast is  a {thing}", "texts are clean: '  '"),
        (FALL, '"hammer"', '"iron hammer"', "texts are clean: '[aA] ir'"),
        (FALL, "has fallen freely through {h}?", "has fallen freely through a {h} drop?", "texts are clean: 'a (8|1)"),
        (FALL, "free fall is {g}.", "free fall is {g}", "no complete sentence"),
        (
            FALL,
            "How fast is a {thing} after it has fallen freely through {h}? The acceleration of free fall is {g}.",
            "From a tower a {thing} falls {h} from rest. Take {g} as the acceleration of free fall and find its speed.",
            "wordings differ",
        ),
        (FALL, "low = 3, high = 90, step = 0.1", "low = 3, high = 90, step = 87", "questions differ: only"),
        (FALL, "low = 3,", "low = -3,", "has no value|math domain error"),
        (FALL, "low = 3, high = 90", "low = 3e40, high = 90e40", "results are plausible: the"),
        (
            FALL,
            'result = { symbol = "v", name = "final speed", unit = "m/s" }',
            'result = { symbol = "v", name = "final speed", unit = "m" }',
            "units agree: step 3: .* cannot be expressed in m",
        ),
        (FALL, 'formula = "h = g × t² / 2"', 'formula = "h = g × t²"', "laws hold: 'h = g × t²' does not hold"),
        (FALL, 'formula = "h = g × t² / 2"', 'formula = "h = g × t² / x"', r"uses \['x'\], which is no quantity"),
        (FALL, 'formula = "h = g × t² / 2"', 'formula = "h is g t² / 2"', "is not an equation"),
        (
            FALL,
            'formula = "h = g × t / 2"',
            'formula = "H = g × t² / 2"',
            "wrong laws are others: 'H = g × t² / 2' reads",
        ),
        (
            FALL,
            'expression = "math.sqrt(2 * h / g)"',
            'expression = "math.sqrt(2.0005 * h / g)"',
            "rearrangements solve the law",
        ),
        (
            FALL,
            "What speed does the {thing} reach in that time?",
            "Solve it for the time. How long does the {thing} fall?",
            "no step is asked twice",
        ),
        (
            "appliance_charge",
            "Solve P = U × I for the current.",
            "Solve P = U² × I for the current.",
            "rearrangements solve the law",
        ),
        (GAS, 'expression = "t1 + 273.15"', 'expression = "t1 + 237.15"', "units agree: step 2"),
        (GAS, "p1 * T2 / T1", "p1 * T2 / T1 * 1.01", "rearrangements solve the law"),
        (MAGNET, "The pieces are no longer magnets at all.", "The 2 pieces are no magnets.", "concepts need no number"),
        (
            MAGNET,
            "The pieces are no longer magnets at all.",
            "Each piece has a north pole and a south pole of its own.",
            "misconceptions are wrong",
        ),
    ],
)
def test_a_broken_promise_is_named(family: str, old: str, new: str, fault: str, tmp_path: Path) -> None:
    found = list(faults(changed(family, old, new, tmp_path), draws=60))
    assert any(re.search(fault, one) for one in found), found
