"""A run takes its problems from a bank or a file, in an order of its own that every machine repeats."""

from pathlib import Path

import pytest

from soliloquy.problems.bank.bank import load_bank
from soliloquy.problems.files.problem_file import ProblemFile, read_problems
from soliloquy.problems.sources import problem_source
from soliloquy.recipes.mathdial.worked_solutions import known_mistakes, work_through
from soliloquy.recipes.quantity_names import result_name
from soliloquy.runtime.failure import Failure
from tests.unit.problems.test_problem_file import FORCE, file_of


def test_a_file_gives_its_problems_in_order_and_starts_again(tmp_path: Path) -> None:
    source = problem_source(str(file_of(tmp_path, FORCE, {**FORCE, "question": "And 60 kg?"})))
    assert source.count == 2
    assert [source.problem(9, ordinal).source for ordinal in range(3)] == [
        "problems.jsonl:1",
        "problems.jsonl:2",
        "problems.jsonl:1",
    ]


def test_the_digest_follows_the_problems_and_not_the_place_of_the_file(tmp_path: Path) -> None:
    problems = read_problems(file_of(tmp_path, FORCE))
    moved = read_problems(file_of(tmp_path, "\n", FORCE))
    other = read_problems(file_of(tmp_path, {**FORCE, "topic": "forces"}))
    digests = [ProblemFile(problems=each).digest for each in (problems, moved, other)]
    assert digests[0] == digests[1] != digests[2]
    assert len(digests[0]) == 64


def test_a_bank_is_found_by_its_name_and_gives_a_run_its_own_problems() -> None:
    source = problem_source("physics")
    assert source.count is None
    assert source.problem(1, 5) == source.problem(1, 5)
    assert source.problem(1, 5) != source.problem(2, 5)
    assert len(source.digest) == 64


def test_an_unknown_source_names_the_banks() -> None:
    with pytest.raises(Failure, match=r"'chemistry' is neither a file nor a bank \(.*physics"):
        problem_source("chemistry")


TOURS = load_bank("arithmetic").family("tours_in_a_day").problem(3)


def test_a_result_is_told_from_the_given_quantity_that_it_was_converted_from() -> None:
    converted, counted = TOURS.steps[0], TOURS.steps[-1]
    assert result_name(converted, TOURS) == f"{converted.inputs[0].name} in {converted.result.unit}"
    assert result_name(counted, TOURS) == counted.result.name


def test_lines_on_paper_and_reasons_name_it_with_its_unit() -> None:
    name = result_name(TOURS.steps[0], TOURS)
    assert any(f"{TOURS.steps[0].inputs[0].name} in hours" in slip.because for slip in TOURS.steps[0].slips)
    assert work_through(TOURS)[0].name == name
    assert all(name in one.solution for one in known_mistakes(TOURS))
