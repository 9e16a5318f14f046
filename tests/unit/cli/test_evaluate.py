"""The command around an evaluation: which questions it draws, and what it says it cannot do."""

import json
from itertools import islice
from pathlib import Path

import pytest
from click.testing import CliRunner

from services.cli.evaluate.questions import questions
from services.cli.main import commands
from services.curriculum.bank.bank import load_bank
from services.curriculum.problems import problem_source

BANK = load_bank("physics")


def test_questions_run_over_all_topics_and_leave_out_what_was_learned() -> None:
    first = list(islice(questions(BANK, seed=4, learned=set()), 16))
    assert len({problem.topic for problem in first}) == 8
    left = list(islice(questions(BANK, seed=4, learned={problem.id for problem in first[::2]}), 8))
    assert [problem.id for problem in left] == [problem.id for problem in first[1::2]]


def test_the_questions_of_a_file_come_in_the_order_of_their_seed(tmp_path: Path) -> None:
    path = tmp_path / "own.jsonl"
    rows = [{"question": f"How far do {n} steps of 2 m go?", "solution": f"{n} * 2 = {2 * n}"} for n in range(3, 11)]
    path.write_text("".join(f"{json.dumps(row)}\n" for row in rows), "utf-8")
    orders = [
        [p.question for p in questions(problem_source(str(path)), seed=seed, learned=set())] for seed in (1, 1, 2)
    ]
    assert orders[0] == orders[1] != orders[2]
    assert sorted(orders[0]) == sorted(orders[2])
    assert len(orders[0]) == 8


@pytest.mark.parametrize(
    ("options", "line"),
    [
        (["--problems", "chemistry"], "'chemistry' is neither an existing file nor a bank"),
        (["--adapter", "tutor"], "--adapter tutor: the scripted model has no weights"),
        (["--trained", "."], "holds no conversations"),
        (["--model", "ray"], "--model ray needs --model-address"),
        (["--weights", "."], "is no model: it lacks config.json"),
        (["--weights", ".", "--model", "scripted"], "--weights are a model of their own: leave out --model"),
        (["--free"], "--free says nothing without --weights"),
    ],
)
def test_what_cannot_be_evaluated_is_one_line(
    options: list[str], line: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    result = CliRunner().invoke(commands, ["evaluate", "higgs", "--out", "out", *options])
    assert result.exit_code == 2
    assert line in result.stderr
    assert not (tmp_path / "out").exists()
