"""Code is followed through loops and conditions as far as they are bounded, and else nobody says that it is right."""

from dataclasses import replace

import pytest

from soliloquy.programs.terms import CannotTrace
from soliloquy.programs.tracing import trace_solution
from soliloquy_papers.mathwell.criteria.operations import operations_in
from soliloquy_papers.mathwell.criteria.scoring import score
from soliloquy_papers.mathwell.criteria.verdicts import Criterion, WordProblem
from tests.cases import each_case
from tests.unit.papers.mathwell.labelled import labelled

SAVES = "Mia saves 5 dollars a week for 7 weeks. How many dollars does she save?"
READS = "Ben reads 3 pages on Monday, 8 pages on Tuesday and 6 pages on Wednesday. How many pages does he read in all?"
ORDERS = (
    "A club pays 4 dollars for each shirt. Orders of more than 20 shirts cost 10 dollars less in all. "
    "The club orders {shirts} shirts. How many dollars does it pay?"
)
GROWS = "A plant is 3 cm tall. It grows 2 cm each day. How tall is it after 6 days in cm?"


def code(*lines: str) -> str:
    return "\n    ".join(["def solution():", *lines])


def verdicts(question: str, answer: float, *lines: str) -> list[bool | None]:
    scores = score(WordProblem(question=question, code=code(*lines), answer=answer))
    return [scores.meets(Criterion.SOLVABLE), scores.meets(Criterion.ACCURATE)]


@pytest.mark.parametrize(
    ("question", "answer", "lines"),
    [
        (SAVES, 35, ["total = 0", "for week in range(7):", "    total += 5", "return total"]),
        (SAVES, 35, ["total = 0", "for week in range(1, 8):", "    total = total + 5", "return total"]),
        (READS, 17, ["total = 0", "for pages in [3, 8, 6]:", "    total += pages", "return total"]),
        (READS, 17, ["days = [3, 8, 6]", "n = 0", "for i in range(3):", "    n += days[i]", "return n"]),
        (GROWS, 15, ["height = 3", "for day in range(6):", "    height += 2", "return height"]),
        (
            ORDERS.format(shirts=25),
            90,
            ["shirts = 25", "cost = 4 * shirts", "if shirts > 20:", "    cost -= 10", "return cost"],
        ),
        (ORDERS.format(shirts=15), 60, ["n = 15", "if n > 20:", "    return 4 * n - 10", "return 4 * n"]),
        (ORDERS.format(shirts=15), 60, ["n = 15", "return 4 * n - 10 if n > 20 else 4 * n"]),
    ],
)
def test_right_code_is_right_however_it_goes_round(question: str, answer: float, lines: list[str]) -> None:
    assert verdicts(question, answer, *lines) == [True, True]


def test_wrong_code_is_doubted_however_it_goes_round() -> None:
    lines = ["total = 0", "for week in range(7):", "    total += 6", "return total"]
    found = score(WordProblem(question=SAVES, code=code(*lines), answer=42))
    assert {one.judge for one in found.opinions if one.criterion == Criterion.ACCURATE} > {"rules"}


def test_a_loop_over_one_number_changes_no_verdict() -> None:
    judged = [one.problem for folder in ("made_with", "held_out") for one in labelled(folder) if one.labels]
    for problem in judged:
        lines, _, last = problem.code.rstrip().rpartition("\n    return ")
        looped = "\n    ".join([lines, "n = 0", f"for part in [{last}]:", "    n += part", "return n"])
        before, after = score(problem), score(replace(problem, code=looped))
        assert [after.meets(one) for one in Criterion] == [before.meets(one) for one in Criterion]


def test_an_operation_is_one_wherever_it_stands() -> None:
    looped = code(
        "n = 8", "for each in [1, 2]:", "    n = n - each", "if n > 2 and not n == 4:", "    n = n / 5", "return n"
    )
    assert trace_solution(looped).value == 1
    assert operations_in(looped, "") == ["subtraction", "division"]


@each_case
def test_what_is_not_followed_says_why_and_takes_no_time(lines: list[str], because: str) -> None:
    with pytest.raises(CannotTrace) as refused:
        trace_solution(code(*lines))
    assert because in str(refused.value)
