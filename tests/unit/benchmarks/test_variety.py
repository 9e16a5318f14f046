"""Many problems of many topics have different programs, and their topics carry what is counted."""

import pytest

from benchmarks.labelled import as_counts, total
from benchmarks.variety import is_about_topic, judge_topics, write
from soliloquy.programs.tracing import structure_of
from soliloquy.recipes.mathwell.criteria.verdicts import WordProblem


async def test_five_hundred_problems_of_25_topics_and_5_grades_have_450_programs() -> None:
    readings = total((await write(1)).values())
    assert readings.counts["problems"] == 500
    assert readings.counts["different programs"] >= 450
    assert readings.counts["about the topic"] >= 475, readings.faults
    assert readings.counts["approved by rules"] >= 475, readings.faults


@pytest.mark.parametrize(
    ("question", "is_about"),
    [
        ("Ana has 12 posters of penguins and gets 3 more. How many posters has she?", True),
        ("Ana counts birds. There are 12 on the ice and 3 in the water. How many penguins does she count?", True),
        ("The class talks about penguins. Ana buys 12 pens and 3 pencils. How many things does she buy?", False),
        ("Penguins are lovely. Ana has 12 books and gets 3 more. How many books has she?", False),
    ],
)
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
