"""Promises of problem files: what is read from them, and how each mistake in them is reported."""

import json
import os
import re
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from soliloquy.problems.files.problem_file import problem_faults, read_problems
from soliloquy.problems.files.problem_row import problem_line
from soliloquy.problems.files.reading.rows import UnreadableSource
from soliloquy.problems.solving.worked_steps import is_bare
from soliloquy.problems.sources import problem_source
from soliloquy.runtime.failure import Failure
from soliloquy.truth.units import unit as known_unit
from soliloquy.v1 import conversation_pb2 as pb
from tests.cases import each_case

# Its numbers stand in no text, so a solution may use any.
FIGURE = "What is the area of the figure, how fast and how warm is it?"
FORCE = {
    "question": "Which force gives 50 kg an acceleration of 10 m/s²?",
    "solution": "Step 1) Use Newton's second law. Step 2) The force is F = m × a = 50 kg × 10 m/s² = 500 N.",
}
MASS = {"symbol": "m", "name": "mass", "value": 50, "unit": "kg"}
STEP = {
    "explanation": "Multiply.",
    "expression": "m * 10",
    "inputs": [MASS],
    "result": {"symbol": "F", "name": "force", "unit": "N"},
}


def file_of(folder: Path, *rows: Any) -> Path:
    path = folder / "problems.jsonl"
    path.write_text("".join(row if isinstance(row, str) else json.dumps(row) + "\n" for row in rows), "utf-8")
    return path


def read_one(folder: Path, **fields: Any) -> pb.Problem:
    return read_problems(file_of(folder, {**FORCE, **fields}))[0]


def test_steps_are_derived_from_a_numbered_solution(tmp_path: Path) -> None:
    law, force = read_one(tmp_path).steps
    assert not law.HasField("result")
    assert (force.expression, force.result.symbol, force.result.value, force.result.unit) == ("50 * 10", "F", 500, "N")
    assert "500" not in force.ask
    assert [slip.strategy for slip in force.slips] == [1, 2, 3, 4]


def test_whether_steps_were_read_from_prose_is_known_wherever_they_are_written(tmp_path: Path) -> None:
    read = read_one(tmp_path)
    stated = read_one(tmp_path, steps=[STEP])
    assert (read.plan, stated.plan) == (pb.PLAN_SOURCE_PROSE, pb.PLAN_SOURCE_UNSPECIFIED)
    # The line of a problem has its steps, whoever stated them.
    again = read_problems(file_of(tmp_path, problem_line(read, {})))[0]
    assert (again.plan, len(again.steps)) == (pb.PLAN_SOURCE_PROSE, 2)


@pytest.mark.parametrize("answer", [500, 500.0, "500", "500 N", "500.0 N", {"value": 500}, {"value": 500, "unit": "N"}])
def test_an_answer_may_be_written_as_people_write_it(tmp_path: Path, answer: object) -> None:
    read = read_one(tmp_path, answer=answer).answer
    assert (read.value, read.unit) == (500, "N")


@each_case
def test_a_number_of_a_formula_begins_no_step(tmp_path: Path, solution: str) -> None:
    law, energy = read_one(tmp_path, question=FIGURE, solution=solution).steps
    assert (law.explanation, law.HasField("result")) == ("Use E = m v^2 / 2.", False)
    assert (energy.result.symbol, energy.result.value, energy.result.unit) == ("E", 1260, "J")


@pytest.mark.parametrize("law", ["E = m v^2 / 2", "E = 0.5 m v^2", "E = 1/2 m v^2", "C = 2 * pi * r", "s = v t + 5"])
def test_a_number_of_a_formula_is_no_result(tmp_path: Path, law: str) -> None:
    assert not read_one(tmp_path, solution=f"Step 1) Use {law}. Step 2) 5 * 2 = 10 N").steps[0].HasField("result")


@pytest.mark.parametrize(
    ("solution", "results"),
    [
        ("x + x + 10 = 70\n2x = 60\nx = 60 / 2 = 30", [None, None, 30]),
        ("2w + 2(w + 3) = 34.\n4w + 6 = 34, so 4w = 28 and w = 7 cm.\nThe length is 7 + 3 = 10 cm.", [None, 7, 10]),
        ("E = m v²/2 = 9 J\nso v = sqrt(2E/m) = 3 m/s", [9, 3]),
    ],
)
def test_a_side_of_an_equation_in_an_unknown_is_no_result(
    tmp_path: Path, solution: str, results: list[float | None]
) -> None:
    steps = read_one(tmp_path, solution=solution).steps
    assert [step.result.value if step.HasField("result") else None for step in steps] == results


def test_a_check_finds_the_faults_of_all_lines(tmp_path: Path) -> None:
    false = {"question": "How much is it?", "solution": "It is 2 * 3 = 7."}
    path = file_of(tmp_path, false, FORCE, {"question": "And this?"})
    assert list(problem_faults(path)) == [
        f"{path}:1: solution: '2 * 3 = 7' is false: it is 6",
        f"{path}:3: solution: is missing; there are: 'question'",
    ]


@each_case
def test_a_sentence_with_arithmetic_becomes_a_step(
    tmp_path: Path, solution: str, expression: str, value: float, unit: str
) -> None:
    step = read_one(tmp_path, question=FIGURE, solution=solution).steps[0]
    assert (step.expression, step.result.value, step.result.unit) == (expression, value, unit)


@each_case
def test_a_solution_with_a_false_calculation_is_refused_with_the_line_and_both_numbers(
    tmp_path: Path, solution: str, reason: str
) -> None:
    with pytest.raises(UnreadableSource, match=re.escape(reason)):
        read_one(tmp_path, solution=solution)


@each_case
def test_a_solution_is_cut_by_numbers_lines_sentences_or_commas(tmp_path: Path, solution: str, count: int) -> None:
    assert len(read_one(tmp_path, question=FIGURE, solution=solution).steps) == count


@pytest.mark.parametrize(
    ("stated", "unit"),
    [("1030 kg m^–3", "kg m^-3"), (r"$1030\,\text{kg/m}^3$", "kg/m ^3"), ("**1030** kg/m^3", "kg/m^3")],
)
def test_the_unit_of_a_result_is_read_through_its_markup(tmp_path: Path, stated: str, unit: str) -> None:
    (step,) = read_one(tmp_path, solution=f"Salt makes water denser, so the density is {stated}.").steps
    assert (step.result.value, step.result.unit) == (1030, unit)
    assert known_unit(step.result.unit).kind == known_unit("kg/m^3").kind


def test_an_answer_that_the_prose_leaves_out_becomes_the_last_step(tmp_path: Path) -> None:
    problem = read_one(tmp_path, solution="Think hard.", answer={"value": 40, "unit": "N"})
    assert problem.steps[-1].result == problem.answer
    assert (problem.answer.value, problem.answer.unit) == (40, "N")


@pytest.mark.parametrize("answer", ["430 minutes", {"value": 430, "unit": "minutes"}])
def test_an_answer_may_stand_without_a_solution(tmp_path: Path, answer: object) -> None:
    row = {"question": "A train leaves at 8:20 and arrives at 15:30. How long does it take?", "answer": answer}
    [problem] = read_problems(file_of(tmp_path, row))
    assert (problem.answer.value, problem.answer.unit) == (430, "minutes")
    assert is_bare(problem)


def test_an_answer_that_counts_whole_things_is_no_rounded_result(tmp_path: Path) -> None:
    asked, said = "How many bags of 7 kg do 90 kg fill?", "90 / 7 = 12.86, so 12 bags are full."
    problem = read_one(tmp_path, question=asked, solution=said, answer={"value": 12, "unit": "bags"})
    assert [step.result.value for step in problem.steps] == [12.86, 12]
    assert problem.answer.value == 12


def test_a_given_number_is_no_result_of_a_step_on_the_way(tmp_path: Path) -> None:
    asked = "A club of 35 members has four times as many girls as boys. How many girls are there?"
    problem = read_one(tmp_path, question=asked, solution="So b + 4b is 35. Then 35 / 5 = 7. And 4 * 7 = 28 girls.")
    assert [step.result.value for step in problem.steps] == [0, 7, 28]


def test_the_unit_of_hours_and_minutes_is_that_of_the_value(tmp_path: Path) -> None:
    asked, said = "A film of 75 minutes is shown 4 times for 6 €.", "75 minutes = 1 h 15 min. Then 6 * 4 = 24."
    step, _ = read_one(tmp_path, question=asked, solution=said).steps
    assert (step.result.value, step.result.unit) == (1.25, "h")


def test_stated_steps_use_inputs_and_earlier_results(tmp_path: Path) -> None:
    double = {"explanation": "Double it.", "expression": "2 * F", "result": {"symbol": "D", "unit": "N"}}
    problem = read_one(tmp_path, steps=[STEP, double], answer={"value": 1000, "unit": "N"})
    assert problem.answer == problem.steps[1].result
    assert [i.symbol for i in problem.steps[1].inputs] == ["F"]


def test_a_file_may_say_what_kind_a_step_is_and_how_it_goes_wrong(tmp_path: Path) -> None:
    wrong = [
        {"strategy": "conversion", "working": "F = 0.5", "value": 0.5},
        {"working": "F = 7 J", "value": 7, "unit": "J"},
    ]
    knowns = {"kind": "knowns", "explanation": "List what is known.", "inputs": [MASS]}
    stated, worked = read_one(tmp_path, steps=[knowns, {**STEP, "kind": "rearrange", "slips": wrong}]).steps
    assert (stated.kind, worked.kind) == (pb.STEP_KIND_KNOWNS, pb.STEP_KIND_REARRANGE)
    assert [known.symbol for known in stated.inputs] == ["m"]
    assert list(worked.slips) == [
        pb.Slip(strategy=pb.ERROR_STRATEGY_CONVERSION, working="F = 0.5", value=0.5, unit="N"),
        pb.Slip(working="F = 7 J", value=7, unit="J"),
    ]
    assert not read_one(tmp_path, steps=[{**STEP, "slips": []}]).steps[0].slips


def test_small_numbers_are_not_all_the_same(tmp_path: Path) -> None:
    charge = {"symbol": "e", "value": 1.6e-19}
    step = {**STEP, "expression": "2 * e", "inputs": [charge], "result": {"symbol": "q", "value": 1.6e-19}}
    with pytest.raises(UnreadableSource, match=r"steps\.0\.result\.value: is 1\.6e-19, but 2 \* e gives 3\.2e-19"):
        read_one(tmp_path, steps=[step])
    sine = {**STEP, "expression": "math.sin(math.pi)", "inputs": [], "result": {"symbol": "s", "value": 0}}
    assert read_one(tmp_path, steps=[sine]).steps[0].result.value == 0


def test_what_a_source_says_besides_changes_no_problem(tmp_path: Path) -> None:
    extra = {"book": "mine", "pages": [3, None]}
    assert read_one(tmp_path, extra=extra) == read_one(tmp_path)


def test_an_answer_that_is_kept_as_text_is_no_number_of_the_steps(tmp_path: Path) -> None:
    problem = read_one(tmp_path, extra={"answer": "five hundred newtons"})
    assert problem.steps[-1].result.value == 500
    assert not problem.HasField("answer")


def changed(**fields: Any) -> dict[str, Any]:
    return {**FORCE, "steps": [{**STEP, **fields}]}


@each_case
def test_a_mistake_is_reported_in_one_line_with_its_place(
    tmp_path: Path, line: str | None, fields: str | None, step: str | None, complaint: str
) -> None:
    row = FORCE | json.loads(fields or "{}") | ({"steps": [STEP | json.loads(step)]} if step else {})
    with pytest.raises(UnreadableSource) as caught:
        read_problems(file_of(tmp_path, line or row))
    assert complaint in str(caught.value)
    assert "\n" not in str(caught.value)


@each_case
def test_a_file_of_another_format_is_one_fault_with_what_to_do(tmp_path: Path, name: str, told: str) -> None:
    path = tmp_path / name
    path.write_text("# Mine\n\nquestion,solution\n", "utf-8")
    [fault] = problem_faults(path)
    assert told.replace("{folder}", str(tmp_path)) in fault
    with pytest.raises(Failure, match=re.escape(fault)):
        problem_source(str(path))


def test_the_line_of_a_mistake_counts_blank_lines(tmp_path: Path) -> None:
    with pytest.raises(UnreadableSource, match=r"problems\.jsonl:3: question"):
        read_problems(file_of(tmp_path, FORCE, "\n", {"solution": "x"}))


@pytest.mark.parametrize("field", ["id", "question"])
def test_a_problem_given_twice_is_reported(tmp_path: Path, field: str) -> None:
    other = {**FORCE, "id": "a", "question": "Another?"} if field == "id" else {**FORCE, "id": "b"}
    with pytest.raises(UnreadableSource, match=f":2: {field}: the same as on line 1"):
        read_problems(file_of(tmp_path, {**FORCE, "id": "a"}, other))


def test_a_pipe_or_a_device_is_refused_before_it_is_read(tmp_path: Path) -> None:
    pipe, endless = tmp_path / "pipe.jsonl", tmp_path / "endless.jsonl"
    os.mkfifo(pipe)
    endless.symlink_to("/dev/zero")
    for path in (pipe, endless):
        with pytest.raises(UnreadableSource, match="is a pipe or a device: save what it sends as a file"):
            read_problems(path)


def test_files_that_hold_no_readable_text_are_reported(tmp_path: Path) -> None:
    path = tmp_path / "p.jsonl"
    with pytest.raises(UnreadableSource, match="cannot be read"):
        read_problems(path)
    with pytest.raises(UnreadableSource, match="cannot be read"):
        read_problems(tmp_path)
    path.write_bytes(b"\n\n")
    with pytest.raises(UnreadableSource, match="contains no problem"):
        read_problems(path)
    path.write_bytes(json.dumps(FORCE).encode() + b"\n\xff\n")
    with pytest.raises(UnreadableSource, match=r":2: text: .* is not UTF-8"):
        read_problems(path)


@given(content=st.binary(max_size=80) | st.text(max_size=80).map(lambda text: text.encode("utf-8", "surrogatepass")))
def test_garbage_is_reported_and_never_crashes(tmp_path_factory: pytest.TempPathFactory, content: bytes) -> None:
    path = tmp_path_factory.getbasetemp() / "garbage.jsonl"
    path.write_bytes(content)
    with pytest.raises(UnreadableSource):
        read_problems(path)


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from([*STEP, *MASS]), inner, max_size=4),
    max_leaves=8,
)


@given(fields=st.dictionaries(st.sampled_from(["id", "topic", "answer", "tolerance", "steps", "extra"]), JSON))
def test_any_json_is_read_or_reported(tmp_path_factory: pytest.TempPathFactory, fields: dict[str, Any]) -> None:
    path = file_of(tmp_path_factory.getbasetemp(), {**FORCE, **fields})
    try:
        problems = read_problems(path)
    except UnreadableSource:
        return
    assert problems[0].question == FORCE["question"]


WORDS = st.sampled_from(
    ["F", "m", "=", "*", "×", "/", "(", ")", "5", "3.5", "kg", "²", "√", "pi", "Step 1)", ".", "-", "1e308", "^", "\n"]
)


@given(solution=st.lists(WORDS, min_size=1, max_size=14).map(" ".join) | st.text(min_size=1, max_size=60))
def test_any_prose_becomes_steps_whose_numbers_agree(tmp_path_factory: pytest.TempPathFactory, solution: str) -> None:
    path = file_of(tmp_path_factory.getbasetemp(), {**FORCE, "solution": solution})
    try:
        (problem,) = read_problems(path)
    except UnreadableSource:
        return
    assert problem.steps
    for step in problem.steps:
        if step.HasField("result"):
            assert step.slips
            assert all(slip.because for slip in step.slips)
            right = step.result.value
            assert all(abs(slip.value - right) > 0.03 * abs(right) for slip in step.slips)


def test_no_two_steps_in_a_row_are_asked_for_in_the_same_words(tmp_path: Path) -> None:
    prose = "Step 1) Ice floats. Step 2) It is lighter. Step 3) So less of it sinks. Step 4) The rest is seen. "
    asked = [step.ask for step in read_one(tmp_path, solution=f"{prose}Step 5) F = 50 * 10 = 500 N").steps]
    assert len(asked) == 5
    assert all(one != other for one, other in pairwise(asked))


def test_a_question_made_of_a_solution_is_one_sentence(tmp_path: Path) -> None:
    steps = read_one(tmp_path, solution="Ice of kind II is denser than kind I. 50 * 10 = 500 N").steps
    assert [step.ask for step in steps] == ["Ice of kind II is denser than kind I: what do you get?"]


def test_a_sentence_may_begin_with_a_number_behind_a_whole_word(tmp_path: Path) -> None:
    solution = "There are 4 * 6 = 24 rolls in the boxes. 24 - 9 = 15 rolls remain, which is approx. 60 % of them."
    steps = read_one(tmp_path, solution=solution).steps
    assert [step.result.value for step in steps] == [24, 15]
