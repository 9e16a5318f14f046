"""Problems in every published form go through the recipes that can use them; the others are named beforehand."""

import csv
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from tests.e2e.runs import SOLILOQUY, command, said

Rows = Sequence[Mapping[str, Any]]
RECIPES = ("soliloquy", "mathdial", "scaffold")
MARKERS = [
    ("A shop sells 4 boxes of 12 markers each and then 9 more markers. How many markers does it sell?", 4, 12, 9),
    ("Each of 6 tables seats 8 guests, and 5 guests stand. How many guests are there?", 6, 8, 5),
    ("A farmer fills 7 crates with 15 pears and has 11 pears left over. How many pears are there?", 7, 15, 11),
]
LIFT = {
    "Question": "A crate of 40 kg is lifted by 3 m at a constant speed within 6 s. What power does that take?",
    "Original Solution": "P = m g h / t = 196 W",
    "Detailed Solution": "Step 1) The weight of the crate is F = 40 * 9.8 = 392 N. "
    "Step 2) The work is W = 392 * 3 = 1176 J. Step 3) The power is P = 1176 / 6 = 196 W.",
    "Solution Outline": "Step 1) Find the weight. Step 2) Find the work. Step 3) Divide it by the time.",
}
SKY = {
    "Question": "Why does a stone that is thrown upwards come back?",
    "Original Solution": "Gravity pulls it down.",
    "Detailed Solution": "Step 1) Gravity acts downwards all the time. Step 2) So the stone slows down and falls.",
    "Solution Outline": "Step 1) Name the force. Step 2) Say what it does.",
}


def _sgsm() -> Rows:
    nested = {
        "question": "A tank holds 90 litres. 2 buckets of 15 litres and a can of 12 litres are taken out. "
        "What is the rest worth at 5 dollars a litre?",
        "solution": "def solution():\n    return (90 - (2 * 15 + 12)) * 5\n",
        "answer": "240.0",
        "topic": "Gardening",
    }
    worked = [
        {
            "question": told,
            "solution": f"def solution():\n    packed = {of[0]} * {of[1]}\n    whole = packed + {of[2]}\n"
            "    return whole\n",
            "answer": f"{of[0] * of[1] + of[2]}.0",
            "topic": "Shopping",
        }
        for told, *of in MARKERS
    ]
    return [nested, *worked]


def _bigmath() -> Rows:
    return [
        {"problem": told, "answer": str(of[0] * of[1] + of[2]), "domain": "['Arithmetic']", "llama8b_solve_rate": 0.5}
        for told, *of in MARKERS
    ]


# The rows of each form, the suffix of its file, how many of them each recipe can use, and the recipes that are run.
SETS: dict[str, tuple[Rows, str, tuple[int, int, int], Sequence[str]]] = {
    "sgsm": (_sgsm(), "csv", (4, 4, 4), ["soliloquy"]),
    "bigmath": (_bigmath(), "jsonl", (3, 3, 3), ["mathdial"]),
    "physics": ([LIFT, SKY], "json", (2, 1, 1), ["scaffold"]),
}
# The stand-in for a model errs in calculations of the solution. Where there are none it has no wrong solution to offer.
WITHOUT_CONFUSION = ("bigmath", "mathdial")


def _written(path: Path, rows: Rows) -> Path:
    with path.open("w", newline="", encoding="utf-8") as file:
        match path.suffix:
            case ".csv":
                writer = csv.DictWriter(file, [*rows[0]])
                writer.writeheader()
                writer.writerows(rows)
            case ".json":
                json.dump(rows, file)
            case _:
                file.writelines(json.dumps(row) + "\n" for row in rows)
    return path


@pytest.mark.parametrize("name", SETS)
def test_a_set_goes_through_recipes_as_its_check_foresees(name: str, tmp_path: Path) -> None:
    rows, suffix, usable, run = SETS[name]
    problems = tmp_path / "problems.jsonl"
    source = _written(tmp_path / f"theirs.{suffix}", rows)
    imported = said([SOLILOQUY, "problems", "import", "--as", name, str(source), "--out", str(problems)])
    assert imported.returncode == 0, imported.stdout + imported.stderr
    checked = said([SOLILOQUY, "problems", "check", str(problems)]).stdout.splitlines()
    for recipe, count in zip(RECIPES, usable, strict=True):
        [foreseen] = [line for line in checked if line.startswith(f"{recipe}: ")]
        assert f"{count} of {len(rows)} problems are of use" in foreseen
        if recipe not in run:
            continue
        grown = said(command(tmp_path / recipe, recipe=recipe, problems=problems, conversations=len(rows)))
        if (name, recipe) == WITHOUT_CONFUSION:
            assert grown.returncode == 2
            assert "the scripted model can play none of these problems as mathdial" in grown.stderr
            continue
        assert grown.returncode == 0, f"{recipe}: {grown.stderr}"
        assert (foreseen in grown.stderr) == (count < len(rows))
        report = json.loads(grown.stdout)
        assert (report["accepted"], report["failed"]) == (len(rows), 0)
