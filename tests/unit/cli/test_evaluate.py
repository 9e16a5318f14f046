"""The command around an evaluation: which questions it draws, and what it says it cannot do."""

import json
from itertools import islice
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from soliloquy.cli.evaluate.settings import questions, retraining_evaluation
from soliloquy.cli.main import commands
from soliloquy.dataset.layout import ShardLimits
from soliloquy.dataset.manifest import write_manifest
from soliloquy.dataset.shards import DatasetWriter
from soliloquy.dataset.storage import Storage
from soliloquy.dataset.tally import Tally
from soliloquy.problems.bank.bank import load_bank
from soliloquy.problems.sources import problem_source
from soliloquy.runtime.failure import Failure
from soliloquy.v1.conversation_pb2 import Conversation, Problem, StudentReply, Turn, TutorReply
from soliloquy.v1.dataset_pb2 import Collected
from soliloquy.v1.runs_pb2 import Run
from tests.cases import each_case

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


@each_case
def test_what_cannot_be_evaluated_is_one_line(
    options: list[str], line: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    result = CliRunner().invoke(commands, ["evaluate", "soliloquy", "--out", "out", *options])
    assert result.exit_code == 2
    assert line in result.stderr
    assert not (tmp_path / "out").exists()


def evaluate(*arguments: str) -> Result:
    return CliRunner().invoke(commands, ["evaluate", *arguments])


def grow(folder: Path, *, recipe: str, solution: str = "4 + 6 = 10\n#### 10") -> Path:
    """A dataset of one dialogue."""
    turns = [Turn(number=1, tutor=TutorReply(text="How?")), Turn(number=2, student=StudentReply(text="It is 10."))]
    problem = Problem(id="one", question="How many?", solution=solution)
    one = Conversation(id="one", run=Run(id="run", recipe=recipe), problem=problem, turns=turns)
    writer = DatasetWriter(Storage(folder), folder, (), ShardLimits(), Tally())
    writer.add(Collected(conversation=one.SerializeToString()))
    write_manifest(Storage(folder), {"run": {}, "counts": {}, "cost": {}, "arrival": {}}, writer.close())
    return folder


def test_a_tutor_that_needs_no_model_is_evaluated_and_compared(tmp_path: Path) -> None:
    asking = ["mathdial", "--tutor", "next-step", "--dialogues", "3", "--quiet"]
    for name in ("one", "two"):
        result = evaluate(*asking, "--out", str(tmp_path / name))
        assert (result.exit_code, result.output) == (0, "")
    for name in ("report.json", "report.md", "report.svg", "cases.jsonl"):
        assert (tmp_path / "one" / name).read_bytes() == (tmp_path / "two" / name).read_bytes()
    compared = evaluate("compare", str(tmp_path / "one"), str(tmp_path / "two"), "--out", str(tmp_path / "both"))
    assert compared.exit_code == 0
    assert "| Telling@10 | 0.00 (0 of 3" in (tmp_path / "both" / "comparison.md").read_text("utf-8")
    assert (tmp_path / "both" / "comparison.svg").exists()


def test_dialogues_of_a_dataset_are_evaluated_as_they_are(tmp_path: Path) -> None:
    data = grow(tmp_path / "data", recipe="mathdial")
    result = evaluate("mathdial", "--tutor", str(data), "--out", str(tmp_path / "out"))
    assert result.exit_code == 0, result.output
    report = json.loads((tmp_path / "out" / "report.json").read_bytes())
    assert report["figures"]["metrics"]["success@1"]["passed"] == 1
    assert report["name"] == "data"


@each_case
def test_dialogues_that_cannot_be_evaluated_are_one_line(
    options: list[str], line: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    grow(tmp_path / "physics", recipe="soliloquy")
    grow(tmp_path / "wordy", recipe="mathdial", solution="Because it is so.")
    result = evaluate("mathdial", "--out", "out", *options)
    assert result.exit_code == 2
    assert line in result.stderr
    assert not (tmp_path / "out").exists()


def test_evaluations_by_two_protocols_are_compared_only_if_their_cases_are_the_same(tmp_path: Path) -> None:
    data = grow(tmp_path / "data", recipe="mathdial")
    for name in ("one", "two"):
        evaluate("mathdial", "--tutor", str(data), "--quiet", "--out", str(tmp_path / name))
    path = tmp_path / "two" / "report.json"
    report = json.loads(path.read_bytes()) | {"protocol": "another"}
    path.write_text(json.dumps(report), "utf-8")
    assert evaluate("compare", str(tmp_path / "one"), str(tmp_path / "two")).exit_code == 0
    path.write_text(json.dumps(report | {"cases": report["cases"] | {"sha256": "others"}}), "utf-8")
    result = evaluate("compare", str(tmp_path / "one"), str(tmp_path / "two"))
    assert result.exit_code == 2
    assert "two is an evaluation by another and" in result.stderr


@pytest.mark.parametrize("recipe", ["mathdial", "mathwell"])
def test_a_recipe_that_cannot_compare_two_adapters_is_not_retrained(recipe: str) -> None:
    with pytest.raises(Failure, match=f"the recipe {recipe} cannot be retrained"):
        retraining_evaluation(recipe)


def test_the_canaries_of_an_adapter_are_the_first_prompts_of_its_recipe() -> None:
    prompts = retraining_evaluation("soliloquy").canary_prompts(4)
    assert [canary.role for canary in prompts] == ["tutor", "composer", "codegen", "tutor"]
