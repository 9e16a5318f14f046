"""The questions that lead to the steps of a person's solution read as a teacher would say them."""

from soliloquy.problems.files.prose_solution import steps_from_prose
from soliloquy.truth.numbers import numbers_in_digits
from tests.cases import each_case


@each_case
def test_a_question_is_a_sentence_of_its_own_and_says_no_number(solution: str, questions: list[str]) -> None:
    assert [step.ask for step in steps_from_prose(solution)] == questions
    assert not any([*numbers_in_digits(question)] for question in questions)


def test_every_number_of_a_long_solution_is_asked_for_in_other_words() -> None:
    asked = [
        step.ask for step in steps_from_prose("\n".join(f"{number} * 3 = {number * 3}" for number in range(2, 14)))
    ]
    assert len(asked) == len(set(asked)) == 12
