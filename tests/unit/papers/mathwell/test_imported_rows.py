"""Rows that others wrote teach a writer: the topic is the commission, and the problem with its function the answer."""

import json
from pathlib import Path

import pytest
from click.testing import CliRunner

from soliloquy.cli.main import commands
from soliloquy.dataset.reading import Dataset
from soliloquy.runtime.retry import Refused
from soliloquy.v1.conversation_pb2 import Conversation
from soliloquy_papers.mathwell.answers import WrittenProblem
from soliloquy_papers.mathwell.prompting import TEMPLATES
from soliloquy_training.data import samples

QUESTION = "A kite shop has 24 red kites and 13 blue kites. It sells 9 of them. How many kites are left?"
CODE = "def solution():\n    kites = 24 + 13\n    # 9 are sold\n    return kites - 9"


def imported(folder: Path, form: str, row: dict[str, object]) -> Conversation:
    (folder / "rows.jsonl").write_text(json.dumps(row) + "\n", "utf-8")
    out = folder / "imported"
    done = CliRunner().invoke(commands, ["import", str(folder / "rows.jsonl"), "--format", form, "--out", str(out)])
    assert done.exit_code == 0, done.output
    assert CliRunner().invoke(commands, ["check", str(out)]).exit_code == 0
    [made] = Dataset(out).conversations()
    return made


@pytest.mark.parametrize(
    ("form", "row"),
    [
        ("sgsm", {"question": QUESTION, "solution": CODE, "answer": "28", "topic": "kites"}),
        ("alpaca", {"instruction": "..", "input": "kites", "output": f"Question: {QUESTION}\nSolution:\n{CODE}"}),
    ],
)
def test_an_imported_row_is_learned_as_a_problem_that_was_written_to_order(
    tmp_path: Path, form: str, row: dict[str, object]
) -> None:
    [sample] = samples(imported(tmp_path, form, row), "states")
    *prompt, answer = sample
    written, _ = WrittenProblem.read(answer.text)
    assert (written.question, written.code, answer.learned) == (QUESTION, CODE, True)
    asked = prompt[-1].text
    assert "<topic>kites</topic>" in asked
    # What is drawn for a problem that is to be written is not true of one that exists.
    assert not any(name in asked for name in TEMPLATES.own.table("settings")["names"])


def test_a_row_without_a_function_teaches_no_writer(tmp_path: Path) -> None:
    made = imported(tmp_path, "sgsm", {"question": QUESTION, "solution": "24 + 13 - 9 = 28", "topic": "kites"})
    with pytest.raises(Refused, match="no function"):
        samples(made, "states")
