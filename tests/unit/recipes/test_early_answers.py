"""Checks which replies give a result away, and which only look like it."""

import random
from itertools import islice

from soliloquy.recipes.check_report import LIKENESS, Likeness
from soliloquy.recipes.soliloquy.truth import assess
from soliloquy.v1.conversation_pb2 import Conversation, Ending, Problem, Quantity, Step
from tests.unit.recipes.conversations import turn

SPEED = Quantity(symbol="c", name="speed", value=343, unit="m/s")
FREQUENCY = Quantity(symbol="f", name="frequency", value=109600, unit="Hz")
WAVE = Quantity(symbol="w", name="wavelength", value=0.0031296, unit="m")
IN_MM = Quantity(symbol="w_mm", name="wavelength", value=3.1296, unit="mm")
ANTENNA = Quantity(symbol="l", name="length of the antenna", value=0.2495, unit="m")

MILLIMETRES = Problem(
    question="A sound of 109600 Hz travels at 343 m/s. What is its wavelength in millimetres?",
    steps=[
        Step(number=1, ask="How long is a wave?", formula="w = c / f", inputs=[SPEED, FREQUENCY], result=WAVE),
        Step(number=2, ask="How many millimetres is this?", formula="w_mm = w * 1000", inputs=[WAVE], result=IN_MM),
    ],
    answer=IN_MM,
)
QUARTER = Problem(
    question="How long is a quarter-wave antenna for waves of 0.998 m?",
    steps=[Step(number=1, ask="How long is a quarter of that wave?", formula="l = w / 4", result=ANTENNA)],
    answer=ANTENNA,
)
ENERGY = Quantity(symbol="E", name="energy", value=360_000, unit="J")
KETTLE = Problem(
    question="A kettle of 2000 W runs for 180 s. How much energy does it use?",
    steps=[Step(number=1, ask="How much energy does it use?", expression="2000 * 180", result=ENERGY)],
    answer=ENERGY,
)


def given_away(problem: Problem, student: str, tutor: str) -> list[str]:
    turns = [turn(student, tutor, codes="a1q", step=1)]
    conversation = Conversation(problem=problem, turns=turns, ending=Ending.ENDING_SOLVED)
    return [given.text for truth in assess(conversation) for given in truth.early]


def test_a_result_that_the_student_has_written_as_a_quotient_may_be_said() -> None:
    assert given_away(MILLIMETRES, "I put in 343 / 109600.", "Right, that makes 0.00313 m.") == []


def test_a_calculation_that_the_student_has_written_out_may_be_repeated_without_its_result() -> None:
    started = "I begin with E = 2000 × 180."
    assert given_away(KETTLE, started, "Good start, E = 2000 × 180 is right.") == []
    assert given_away(KETTLE, started, "Yes, 2000 × 180 = 360000 J.") == ["360000 J"]
    assert given_away(KETTLE, "Where do I begin?", "With E = 2000 × 180.") == ["2000 × 180"]


def test_but_not_in_the_unit_of_a_later_step() -> None:
    assert given_away(MILLIMETRES, "I put in 343 / 109600.", "Right, that makes 3.13 mm.") == ["3.13 mm"]


def test_a_part_of_something_is_no_result() -> None:
    assert given_away(QUARTER, "Where do I begin?", "How long is a quarter of that wave?") == []
    assert given_away(QUARTER, "Where do I begin?", "It comes to 0.25 m.") == ["0.25 m"]


TALK = ["I am stuck on a ball that falls 20 m, how do I start?", "Which law connects height and time of the fall?"]
WORDS = [f"{first}{second}{third}" for first in "bdfgklmnprst" for second in "aeiou" for third in "nrst"]


def measured(*conversations: list[str]) -> Likeness:
    likeness = Likeness()
    for number, texts in enumerate(conversations):
        likeness.add(str(number), texts)
    return likeness


def test_the_same_words_about_other_numbers_are_alike() -> None:
    found = measured(TALK, [text.replace("20", "37.5") for text in TALK])
    assert [(pair.one, pair.other, pair.likeness) for pair in found.alike] == [("0", "1", 1.0)]


def test_other_words_about_the_same_problem_are_not_alike() -> None:
    found = measured(
        TALK, ["Which law connects height and time of the fall?", "Can we do this? A ball drops from 20 m."]
    )
    assert found.alike == []
    assert found.closest is not None
    assert 0 < found.closest.likeness < LIKENESS["alike"]


def test_likeness_does_not_depend_on_who_came_first() -> None:
    one, other = [*TALK, "Exactly right."], [*TALK, "Well done, that is it."]
    forth, back = measured(one, other).closest, measured(other, one).closest
    assert forth is not None
    assert back is not None
    assert forth.likeness == back.likeness > 0


def test_alike_conversations_are_found_among_many() -> None:
    drawn = random.Random(5)
    many = [[" ".join(drawn.choices(WORDS, k=80))] for _ in range(500)]
    # Each with a fifth of its words changed, long after the one it repeats.
    copies = [[" ".join([*text.split()[:66], *drawn.choices(WORDS, k=14)])] for [text] in islice(many, 20)]
    found = measured(*many, *copies)
    assert {pair.one for pair in found.alike} == {str(number) for number in range(20)}


def test_nothing_is_alike_where_there_is_only_one() -> None:
    assert measured(TALK).closest is None
