"""Compares measures of questions with values made by hand, for sets in any order and any parts."""

import pytest

from soliloquy_papers.mathwell import readability
from soliloquy_papers.mathwell.criteria.operations import operations_by_people, operations_in
from soliloquy_papers.mathwell.figures.problem_measures import SAMPLE_SIZE, ProblemMeasures
from soliloquy_papers.mathwell.readability import dale_chall, flesch_kincaid
from tests.unit.papers.mathwell.labelled import labelled


def measured(*questions: str) -> ProblemMeasures:
    made = ProblemMeasures()
    for question in questions:
        made.add(question, "")
    return made


def test_new_dale_chall_counts_each_word_once_that_children_do_not_know() -> None:
    # Of eight words these are not on the list: 3, balls, wants.
    text = "The dog has 3 balls. It wants more."
    assert dale_chall(text) == pytest.approx(0.0496 * 4 + 0.1579 * 37.5 + 3.6365, abs=0.005)
    assert dale_chall("Rex and Rex and Rex ran.") == pytest.approx(0.0496 * 6 + 0.1579 * 100 / 6 + 3.6365, abs=0.005)
    assert dale_chall("The dog has a ball.") == pytest.approx(0.0496 * 5, abs=0.005)
    assert dale_chall("") == 0


def test_a_reading_grade_rounds_the_parts_of_its_sum_as_the_published_ones_do() -> None:
    # Ten words of thirteen parts in two sentences: 1.3 parts a word.
    text = "The children have seven little dogs. They have one ball."
    assert flesch_kincaid(text) == pytest.approx(0.39 * 5 + 11.8 * 1.3 - 15.59, abs=0.05)
    # A piece of two words is no sentence, and a negative grade is rounded down: -1.84.
    assert flesch_kincaid("The dog has a ball.") == -1.9
    assert flesch_kincaid("Oh no! The dog has a ball.") == -1.2  # -1.06 for seven words in one sentence
    assert flesch_kincaid("") == 0


TAKEN_TWICE = "def solution():\n    left = 9 - 2 - 3\n    return left"


def test_people_count_an_addition_where_two_amounts_are_taken_away_and_no_division_by_a_denominator() -> None:
    assert operations_in(TAKEN_TWICE, "") == ["subtraction"]
    assert operations_by_people(TAKEN_TWICE, "") == ["addition", "subtraction"]
    shared = "def solution():\n    return 12 / 4"
    assert operations_by_people(shared, "12 pears, 1/4 of them ripe?") == ["multiplication", "fractions"]
    assert operations_by_people(shared, "12 pears for 4 friends?") == ["division"]
    assert operations_by_people("def solution():\n    return 8 * 0.25", "25 % of 8?") == ["multiplication", "decimals"]


def test_a_program_with_two_results_still_has_operations() -> None:
    assert operations_by_people("def solution():\n    return (2 + 3, 2 * 3)", "") == ["addition", "multiplication"]
    assert operations_by_people("def solution(:", "") == []


def test_without_the_words_that_children_know_nothing_is_made_up(monkeypatch: pytest.MonkeyPatch) -> None:
    before = measured("The dog has a ball.")
    monkeypatch.setattr(readability, "_familiar", lambda: None)
    assert dale_chall("The dog has a ball.") is None
    assert measured("The dog has a ball.").as_json()["dale_chall"] is None
    assert (before + measured("It runs.")).as_json()["dale_chall"] is None


def test_a_set_is_like_itself_as_far_as_its_questions_share_words() -> None:
    assert measured("How many dogs?", "How many dogs?").as_json()["self_similarity"] == 100
    assert measured("How many dogs?", "How many cats?").as_json()["self_similarity"] == 50
    assert measured("How many dogs?").as_json()["self_similarity"] is None


def test_parts_measure_what_the_whole_does_and_a_bounded_sample_stands_for_it() -> None:
    questions = [f"{one.problem.question} {copy}" for one in labelled("made_with") for copy in range(12)]
    assert len(questions) > 10 * SAMPLE_SIZE
    whole = measured(*questions)
    parts = measured(*questions[::-2]) + measured(*questions[-2::-2])
    assert len(whole.sample) == SAMPLE_SIZE
    assert whole.sample == parts.sample
    assert whole.as_json() == parts.as_json()
