"""Rows of problems as others publish them are taken as they are, wherever problems are taken."""

from pathlib import Path
from typing import Any

import pytest

from soliloquy.problems.files.problem_file import problem_faults, read_problems
from tests.unit.problems.imports import Row, as_csv, as_parquet, imported, jsonl

ASKED = "A tram takes 12 passengers on each of its 4 rounds. How many does it take?"
WORKED = "It takes 4 * 12 = 48 passengers.\nThe answer is 48."
SPOKEN = [("user", ASKED), ("assistant", WORKED)]


def turns(speaker: str, text: str, *said: tuple[str, str]) -> list[dict[str, str]]:
    return [{speaker: who, text: words} for who, words in said]


FORMS: dict[str, Row] = {
    "GSM8K": {"question": ASKED, "answer": "It takes 4 * 12 = <<4*12=48>>48 passengers.\n#### 48"},
    "MATH": {"problem": ASKED, "solution": WORKED, "level": "Level 1", "type": "Algebra"},
    "NuminaMath": {"problem": ASKED, "solution": WORKED, "messages": turns("role", "content", *SPOKEN)},
    "OpenMathInstruct": {"problem": ASKED, "generated_solution": WORKED, "expected_answer": "48"},
    "answers alone": {"problem": ASKED, "answer": "48"},
    "MetaMath": {"query": ASKED, "response": f"{WORKED}\n#### 48\nThe answer is: 48", "type": "GSM_Rephrased"},
    "a spreadsheet": {"Question": ASKED, "Solution": WORKED, "Grade": "5"},
    "Alpaca": {"instruction": ASKED, "input": "", "output": WORKED},
    "OpenAI": {"messages": turns("role", "content", ("system", "Solve it."), *SPOKEN)},
    "ShareGPT": {"conversations": turns("from", "value", ("human", ASKED), ("gpt", WORKED)), "id": "tram"},
}


@pytest.mark.parametrize("form", FORMS)
def test_a_row_is_the_problem_that_it_asks_with_its_answer(tmp_path: Path, form: str) -> None:
    file = jsonl(tmp_path / "theirs.jsonl", FORMS[form])
    assert [*problem_faults(file)] == []
    [problem] = read_problems(file)
    assert (problem.question, problem.answer.value) == (ASKED, 48)


@pytest.mark.parametrize("form", FORMS)
def test_an_import_gives_the_same_problem_from_every_container(tmp_path: Path, form: str) -> None:
    row = FORMS[form]
    sources = [jsonl(tmp_path / "a.jsonl", row), as_parquet(tmp_path / "a.parquet", [row])]
    sources += [as_csv(tmp_path / "a.csv", [row])] if form not in ("NuminaMath", "OpenAI", "ShareGPT") else []
    for source in sources:
        outcome = imported(source, None)
        assert outcome.complaints == []
        [problem] = read_problems(outcome.target)
        assert (problem.question, problem.answer.value) == (ASKED, 48)


def test_a_column_without_a_field_is_kept(tmp_path: Path) -> None:
    [kept] = imported(jsonl(tmp_path / "a.jsonl", FORMS["MATH"]), None).rows
    assert (kept["topic"], kept["extra"]) == ("Algebra", {"level": "Level 1"})


@pytest.mark.parametrize(
    ("held", "told"),
    [
        (turns("role", "content", *SPOKEN, *SPOKEN), "holds 2 turns of user"),
        (turns("role", "content", SPOKEN[0]), "holds 0 turns of assistant"),
        ([{"role": "user", "content": [{"type": "image_url"}]}], "holds 1 turns of user: .* in text"),
        ("not a list", "holds 0 turns of user"),
        ([None, 3], "holds 0 turns of user"),
    ],
)
def test_a_dialogue_that_is_not_one_question_is_refused_with_its_line(tmp_path: Path, held: Any, told: str) -> None:
    [fault] = problem_faults(jsonl(tmp_path / "theirs.jsonl", {"messages": held}))
    assert fault.startswith(f"{tmp_path}/theirs.jsonl:1: text: ")
    with pytest.raises(Exception, match=told):
        read_problems(tmp_path / "theirs.jsonl")


def test_a_row_of_no_known_form_is_still_told_what_is_missing(tmp_path: Path) -> None:
    [fault] = problem_faults(jsonl(tmp_path / "theirs.jsonl", {"puzzle": ASKED, "solution": WORKED}))
    assert fault == f"{tmp_path}/theirs.jsonl:1: question: is missing; there are: 'puzzle', 'solution'"
