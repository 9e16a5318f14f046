"""Promises of sources: a solution is verified only if every number of it was read and comes from somewhere."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from soliloquy.problems.files.problem_from_row import BadField, problem_from_row
from soliloquy.problems.files.problem_row import ProblemRow
from soliloquy.truth.ledger import doubt_about, is_worked_out
from soliloquy.truth.sources import provenance_of
from soliloquy.v1.conversation_pb2 import Problem
from tests.cases import each_case

READ = [
    ("A box holds 12 eggs. How many are in 5 boxes?", "Step 1) 5 * 12 = 60 eggs. So there are **60 eggs**."),
    ("A film of 90 minutes starts after 15 of ads.", "An hour has 60 minutes. 90 + 15 = 105 min, that is 1 h 45 min."),
    ("A jacket of $80 is 25 % off.", "0.25 × 80 = 20, 80 − 20 = $60; or 80 × 0.75 = 60."),
    ("Solve 3x + 4 = 19.", "3x = 15, x = 15 / 3 = 5"),
    ("A spring of 200 N/m is pressed by 4 cm. Energy?", "E = 0.5 k x² = 0.5 × 200 × 0.04² = 0.16 J"),
    ("What is the area of a circle of radius 3 m?", "A = π r² = 3.14 × 3² = 28.26 m²"),
    ("What is 3/8 of 4,000 L?", "3/8 of 4,000 L = 1,500 L"),
    ("Share 84 cm by 6.", "84 cm : 6 = 14 cm"),
    ("How many bits has one of 32?", "log2(32) = 5"),
    ("What is 54 km/h in m/s?", "54 km/h = 54 / 3.6 m/s = 15 m/s"),
    ("Two cups at $3?", "| cups | price |\n|---|--:|\n| 2 | 2 × $3 = **$6** |"),
    ("What are 6 rows of 7?", "def solution():\n    rows = 6\n    return rows * 7"),
]
UNREAD = [
    ("A box holds 12 eggs. How many are in 5 boxes?", "5 * 13 = 65 eggs", "uses 13"),
    ("I share 24 sweets between 3.", "24 ÷÷ 3 = 9, and 9 + 1 = 10", "24 ÷÷ 3 = 9"),
    ("How many ways to choose 2 of 6?", "C(6, 2) = 14, 14 * 2 = 28", "14"),
    ("What is ⌊7.8⌋ plus 5?", "⌊7.8⌋ is 9. 9 + 5 = 14", "9"),
    ("Half of 18 apples, three times?", "Half of them are 8. 8 * 3 = 24", "8"),
    ("A car drives 60 km in an hour.", "In 3 hours it is 190 km. 190 / 2 = 95", "190 km"),
    ("What are 6 rows of 7?", "def solution():\n    rows = 8\n    return rows * 7", "8"),
]


def _problem(question: str, solution: str) -> Problem:
    return problem_from_row(ProblemRow(question=question, solution=solution), "mine.jsonl:1")


@pytest.mark.parametrize(("question", "solution"), READ[:-1])
def test_an_answer_is_supported_if_all_of_its_solution_was_read(question: str, solution: str) -> None:
    assert doubt_about(_problem(question, solution)) == ""


@pytest.mark.parametrize(("question", "solution", "bit"), UNREAD[:-1])
def test_what_was_not_read_leaves_the_answer_unverified_and_is_named(question: str, solution: str, bit: str) -> None:
    problem = _problem(question, solution)
    assert not is_worked_out(problem)
    assert bit in doubt_about(problem)


@each_case
def test_a_number_that_contradicts_its_source_is_refused_with_both_numbers(
    question: str, solution: str, fault: str
) -> None:
    with pytest.raises(BadField, match=re.escape(fault)):
        _problem(question, solution)


@each_case
def test_a_constant_needs_no_source_where_the_problem_gives_it_its_role(question: str, solution: str) -> None:
    problem = _problem(question, solution)
    assert doubt_about(problem) == ""
    assert provenance_of(problem).results


def test_a_constant_without_its_role_has_no_source() -> None:
    with pytest.raises(BadField, match="uses 24"):
        _problem("Pens cost 1.80 € each. What do 19 cost?", "24 * 1.80 = 43.20 €")


@given(st.text("0123456789 +-*/^=().,:!|x²√%$\\{}\nab", max_size=200))
def test_no_text_breaks_the_reader(text: str) -> None:
    doubt_about(Problem(question="How many?", solution=text))


@pytest.mark.timeout(60)
@pytest.mark.parametrize("text", ["1 + 1 = 2 " * 2_000, "7 " * 10_000, "x = 1, " * 3_000])
def test_hostile_texts_are_read_in_a_moment(text: str) -> None:
    doubt_about(Problem(question=text[:1000], solution=text))
