"""Published folders are measured whatever their files are called, and nothing of them is written down."""

import json
from pathlib import Path

import pytest
from click.testing import CliRunner

from benchmarks.__main__ import benchmarks


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "sheet.csv").write_text(
        "Question,Solution\n"
        "How many are 3 boxes of 4 pens?,There are 3 * 4 = 12 pens in all.\n"
        "How many are 3 boxes of 5 pens?,There are 3 * 5 = 16 pens in all.\n"
        'How old is the oak?,"It is old, maybe 300 years."\n'
        "How much is it?,12\n",
        "utf-8",
    )
    told = {"question": "How many are 2 bags of 9 nuts?", "answer": "Two bags hold 2 * 9 = <<2*9=18>>18 nuts.\n#### 18"}
    (tmp_path / "page_1.json").write_text(json.dumps({"rows": [told, told]}), "utf-8")
    return tmp_path


def test_problems_are_supported_unverified_or_refused(folder: Path) -> None:
    result = CliRunner().invoke(benchmarks, ["solutions", str(folder), "--json"])
    assert json.loads(result.output) == {
        "page.json answer": {"supported": 1},
        "sheet.csv solution": {
            **{"supported": 1, "refused": 1, "unverified": 1},
            **{"sum planted": 1, "sum told": 1, "nowhere planted": 1, "nowhere told": 1},
        },
    }
    listed = CliRunner().invoke(benchmarks, ["solutions", str(folder), "--list"]).output
    assert "sheet.csv solution: refused: solution: '3 * 5 = 16' is false: it is 15" in listed


def test_errors_planted_in_written_calculations_are_found(tmp_path: Path) -> None:
    right = [f"They need {a} x {b} = {a * b} of them." for a, b in PAIRS]
    (tmp_path / "texts.jsonl").write_text(
        "\n".join(json.dumps({"text": text}) for text in [*right, "3 x 5 = 16"]), "utf-8"
    )
    result = CliRunner().invoke(benchmarks, ["reading", str(tmp_path), "--json"])
    [found] = json.loads(result.output).values()
    assert (found["calculations"], found["called_false"]) == (len(right) + 1, 1)
    assert found["planted_found"] > 0.9 * found["planted"] > 0


PAIRS = [(a, b) for a in range(2, 7) for b in range(3, 8)]
