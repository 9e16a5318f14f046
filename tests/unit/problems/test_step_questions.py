"""The questions that lead to the steps of a person's solution read as a teacher would say them."""

import pytest

from soliloquy.problems.files.prose_solution import steps_from_prose
from soliloquy.truth.numbers import numbers_in_digits


@pytest.mark.parametrize(
    ("solution", "questions"),
    [
        ("Count them: there are 24.", ["Count them: what do you get?"]),
        (
            "She has 12 marbles. With 5 more it is 12 + 5 = 17.",
            ["What do you work out first?", "What do you get next?"],
        ),
        (
            "The discount is 25 % of 40, which is 10 euros. So the shirt costs 40 - 10 = 30 euros.",
            ["What is the discount?", "What do you get next?"],
        ),
        ("1. The area is 7 * 5 = 35 m^2\n2. Their sum is 12 m", ["What is the area?", "What is their sum?"]),
        (
            "Step 1) Use Newton's second law. Step 2) F = 50 kg * 10 m/s^2 = 500 N",
            ["How would you begin?", "What do you get for F?"],
        ),
        (
            "1. Divide the cookies among the friends: 51 / 3 = 17\n2. Each friend gets 17 cookies.",
            ["Divide the cookies among the friends: what do you get?", "What do you get next?"],
        ),
        ("Monday: 20 pages\nTuesday: 20 * 2 = 40 pages", ["Monday: what do you get?", "Tuesday: what do you get?"]),
        (
            "There are 6 * 4 = <<6*4=24>>24 cans.\nHe gives away 5, so 24 - 5 = <<24-5=19>>19 remain.\n#### 19",
            ["What do you work out first?", "What do you get next?", "What is the answer to the question, then?"],
        ),
        (
            "- Sum: $4 + 8 + 9 = 21$\n- Mean: $\\frac{21}{3} = 7$",
            ["Sum: what do you get?", "Mean: what do you get?"],
        ),
        ("The kinetic energy is $E = \\frac{1}{2} \\cdot 2 \\cdot 3^2 = 9$ J.", ["What is the kinetic energy?"]),
        ("By Ohm's law, $$R = \\frac{12}{3} = 4\\ \\Omega$$", ["By Ohm's law, what do you get?"]),
        ("Five spiders have forty legs: 5 * 8 = 40.", ["What do you work out first?"]),
        ("What is left is 8 - 3 = 5 slices.", ["What is left?"]),
        ("In the first year the interest is 500 * 0.03 = 15.", ["In the first year, what is the interest?"]),
        ("The time of the flight is 4 s.", ["What is the time of the flight?"]),
        ("We know that the sum is 30.", ["What do you work out first?"]),
        ("The total is 2 + 3 = 5.\nThe total is 5 + 1 = 6.", ["What is the total?", "What do you get next?"]),
    ],
)
def test_a_question_is_a_sentence_of_its_own_and_says_no_number(solution: str, questions: list[str]) -> None:
    assert [step.ask for step in steps_from_prose(solution)] == questions
    assert not any([*numbers_in_digits(question)] for question in questions)


def test_every_number_of_a_long_solution_is_asked_for_in_other_words() -> None:
    asked = [
        step.ask for step in steps_from_prose("\n".join(f"{number} * 3 = {number * 3}" for number in range(2, 14)))
    ]
    assert len(asked) == len(set(asked)) == 12
