"""Compares measures of questions with values made by hand, for sets in any order and any parts."""

import pytest

from soliloquy.recipes.mathwell.figures.problem_measures import SAMPLE_SIZE, ProblemMeasures
from soliloquy.truth import readability
from soliloquy.truth.readability import dale_chall
from tests.unit.recipes.mathwell.labelled import labelled


def measured(*questions: str) -> ProblemMeasures:
    made = ProblemMeasures()
    for question in questions:
        made.add(question, "", ["addition"])
    return made


def test_new_dale_chall_counts_the_words_that_children_do_not_know() -> None:
    assert dale_chall("The dog has 3 balls. It wants more.") == pytest.approx(0.0496 * 4 + 0.1579 * 25 + 3.6365)
    assert dale_chall("The dog has a ball. It sees 12.") == pytest.approx(0.0496 * 4 + 0.1579 * 12.5 + 3.6365)
    assert dale_chall("The dog has a ball.") == pytest.approx(0.0496 * 5)
    assert dale_chall("") == 0


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
