"""Many problems of many topics have different programs, and their topics carry what is counted."""

import pytest

from benchmarks.labelled import as_counts
from benchmarks.variety import is_about_topic, judge_topics
from soliloquy.programs.tracing import structure_of
from soliloquy_papers.mathwell.criteria.verdicts import WordProblem
from tests.cases import each_case


@each_case
def test_a_topic_that_only_stands_beside_the_numbers_is_not_what_a_problem_is_about(
    question: str, *, is_about: bool
) -> None:
    problem = WordProblem(question=question, code="", answer=15, topic="penguins")
    assert is_about_topic(problem) is is_about


def test_the_rule_for_topics_rejects_what_only_mentions_its_topic() -> None:
    kinds = as_counts(judge_topics())
    assert kinds["about their topic"] == {"labelled": 35, "right": 34, "rejected": 1}
    assert kinds["mention it"] == {"labelled": 25, "right": 22, "accepted": 3}


@pytest.mark.parametrize(("one", "other", "alike"), [("a + b", "b + 7", True), ("a + b", "a - b", False)])
def test_programs_are_alike_if_they_take_the_same_operations(one: str, other: str, *, alike: bool) -> None:
    first, second = (structure_of(f"def solution():\n    a = 3\n    b = 2\n    return {sum_}") for sum_ in (one, other))
    assert (first == second) is alike
