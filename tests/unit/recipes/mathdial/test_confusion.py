"""Which wrong solution a student is to believe in, and when there is none."""

import json

import pytest

from soliloquy.recipes.mathdial.answers import MoveChoice, PlausibleMistakes
from soliloquy.recipes.mathdial.claims import comes_to_answer, final_answer, holds_answer, slips
from soliloquy.recipes.mathdial.confusion import (
    NoConfusion,
    choose_confusion,
    choose_mistake,
    locate_error,
    sampling_refusal,
    wants_samples,
)
from soliloquy.recipes.mathdial.labels_pb2 import Confusion
from soliloquy.runtime.answers import Unreadable
from soliloquy.v1.conversation_pb2 import Problem, Quantity, Step
from tests.cases import each_case

RIGHT = 28.0


def problem(steps: int = 2) -> Problem:
    listed = [Step(number=number, expression="a * b", result=Quantity(value=RIGHT)) for number in range(1, steps + 1)]
    return Problem(question="How many?", steps=listed, answer=Quantity(value=RIGHT), tolerance=0.01)


def solution(answer: float, *, calculation: str = "14 * 12 = 168") -> str:
    return f"The bags hold {calculation}.\n#### {answer:g}"


def samples(*answers: float) -> list[str]:
    """Fifty: these, and right ones."""
    return [solution(answer) for answer in answers] + [solution(RIGHT)] * (50 - len(answers))


def test_the_most_frequent_wrong_answer_is_the_confusion() -> None:
    confusion = choose_confusion(samples(162, 280, 280, 280, 162), problem())
    assert (confusion.answer, confusion.agreeing, confusion.samples) == (280, 3, 50)
    assert confusion.solution == "The bags hold 14 * 12 = 168."
    assert [(one.because, one.samples) for one in confusion.discarded] == [("right", 45)]


@pytest.mark.parametrize(
    ("spoiled", "because"),
    [
        ("14 * 12 = 168.", "without a final answer"),
        (solution(280, calculation="14 * 12 = 186"), "miscalculated"),
        (solution(28.1), "nearly right"),
        (solution(280, calculation="many"), "without a calculation"),
    ],
)
def test_a_sample_that_is_no_confusion_is_passed_over_and_counted(spoiled: str, because: str) -> None:
    confusion = choose_confusion([spoiled] * 20 + samples(162)[:30], problem())
    assert confusion.answer == 162
    assert {one.because: one.samples for one in confusion.discarded} == {because: 20, "right": 29}
    with pytest.raises(NoConfusion, match=f"no usable mistake: .*20 {because}"):
        choose_confusion([spoiled] * 20 + samples()[:30], problem())


def test_a_wrong_solution_may_be_as_short_or_long_as_it_likes() -> None:
    for text in ("4 * 7 = 28", "I read the text once more and think about it. " * 40 + "4 * 7 = 28"):
        assert choose_confusion([f"{text}\n#### 162", solution(RIGHT), solution(RIGHT)], problem()).answer == 162


def test_the_marks_of_equations_that_models_have_learned_are_no_part_of_what_is_handed_in() -> None:
    marked = "It is 4 * 7 = <<4*7=28>>28.\n\nSo 28 / 2 = <<28/2=14>>14.\n#### 14"
    confusion = choose_confusion([marked, solution(RIGHT), solution(RIGHT)], problem())
    assert confusion.solution == "It is 4 * 7 = 28.\nSo 28 / 2 = 14."


@pytest.mark.parametrize(
    ("answers", "wants"),
    [
        ((), True),
        ((RIGHT,) * 5, True),
        ((RIGHT,) * 10, False),
        ((162, *(RIGHT,) * 10), False),
        ((RIGHT, 162, 162, 280, RIGHT), False),
        ((RIGHT, 162, 162, 28.1, RIGHT), True),
        # The problem may be at fault: more of them tell.
        ((162, 162, 162, 162, RIGHT), True),
        ((162,) * 10, False),
        ((RIGHT, 162) * 2, True),
        ((RIGHT, 28.1) * 25, False),
    ],
)
def test_sampling_ends_with_enough_wrong_ones_or_with_a_model_that_has_settled_or_after_fifty(
    answers: tuple[float, ...], wants: bool
) -> None:
    assert wants_samples([solution(answer) for answer in answers], problem()) is wants


def mistakes(*solutions: str) -> PlausibleMistakes:
    pupils = [{"Belief": f"I thought of {number}.", "Solution": one} for number, one in enumerate(solutions)]
    return PlausibleMistakes.read(json.dumps({"Pupils": pupils}))[0]


def test_a_requested_mistake_is_the_first_that_is_wrong_and_that_a_person_would_hand_in() -> None:
    asked = mistakes(solution(RIGHT), solution(-10), solution(162), solution(280))
    confusion = choose_mistake(asked.mistakes, problem())
    assert confusion is not None
    assert (confusion.answer, confusion.belief) == (162, "I thought of 2.")
    assert confusion.solution == "The bags hold 14 * 12 = 168."
    assert choose_mistake(mistakes(solution(RIGHT)).mistakes, problem()) is None


@pytest.mark.parametrize(("answer", "kept"), [(27.9, False), (28.1, False), (28.11, True), (27.8, True)])
def test_within_a_tenth_of_the_right_answer_nobody_is_confused(answer: float, kept: bool) -> None:
    if kept:
        assert choose_confusion(samples(answer), problem()).answer == answer
    else:
        with pytest.raises(NoConfusion, match="1 nearly right"):
            choose_confusion(samples(answer), problem())


@pytest.mark.parametrize("agreeing", [49, 50])
def test_a_problem_whose_samples_agree_on_a_wrong_answer_is_refused(agreeing: int) -> None:
    with pytest.raises(NoConfusion, match=f"samples agree on a wrong answer: {agreeing} of 50 on 162"):
        choose_confusion(samples(*[162] * agreeing), problem())
    assert choose_confusion(samples(*[162] * 48), problem()).agreeing == 48


def test_a_problem_of_more_than_four_steps_is_not_sampled() -> None:
    assert sampling_refusal(problem(4)) == ""
    assert sampling_refusal(problem(5)) == "too many steps: 5; problems of 4 at most are sampled"


def test_a_problem_without_a_number_for_its_answer_is_refused() -> None:
    assert sampling_refusal(Problem(question="Why?", steps=[Step(number=1)])).startswith("no answer")


@each_case
def test_the_final_answer_is_the_first_number_behind_the_mark(text: str, answer: float | None) -> None:
    assert final_answer(text) == answer


def test_a_slip_is_found_in_what_a_student_writes() -> None:
    assert list(slips("I took 14 × 12 = 186, and then 186 / 6 = 31.")) == ["14 × 12 = 186"]
    assert list(slips("That is an hour (2 * 30 = 60 minutes), and 3 x $68 = $204.")) == []
    assert list(slips("So 3 x $68 = $2448.")) == ["3 x $68 = $2448"]


@each_case
def test_the_right_answer_is_the_number_that_a_message_ends_up_with(said: str, right: bool) -> None:
    assert comes_to_answer(said, problem()) is right


PROBLEM = Problem(
    question="Ada buys three books a week, 12 dollars each. How many weeks does she read for 144 dollars?",
    answer=Quantity(value=4, unit="weeks"),
)


@pytest.mark.parametrize(("text", "holds"), [("So 4 weeks", True), ("**4**", True), ("So 12 weeks", False)])
def test_an_answer_is_held_in_digits(text: str, holds: bool) -> None:
    assert holds_answer(text, PROBLEM) is holds


# A baker fills 6 trays with 8 rolls and sells 30 of them.
TRAYS, ROLLS, SOLD = (Quantity(symbol=symbol, value=value) for symbol, value in (("t", 6), ("r", 8), ("s", 30)))


def bakers_problem() -> Problem:
    baked = Step(number=1, expression="t * r", inputs=[TRAYS, ROLLS], result=Quantity(symbol="b", value=48))
    left = Step(number=2, expression="b - s", inputs=[SOLD], result=Quantity(symbol="l", value=18))
    question = "In 2 hours a baker fills 6 trays with 8 rolls each and sells 30 rolls. How many are left?"
    return Problem(question=question, steps=[baked, left], answer=Quantity(value=18), tolerance=0.01)


@pytest.mark.parametrize(
    ("solution", "what"),
    [
        ("6 * 8 = 48 rolls.\n48 - 30 = 18 are left.\n18 / 2 = 9 an hour.", ("went_on", 3)),
        ("6 * 8 = 48 rolls.\n48 * 2 = 96 in all.\n96 - 30 = 66 are left.", ("quantity", 2)),
        ("6 * 8 = 48 rolls.\n48 + 30 = 78 are left.", None),
        ("There are 2 hours.\nSo 30 are left.", None),
    ],
)
def test_going_on_and_a_quantity_too_many_are_seen_from_the_numbers(
    solution: str, what: tuple[str, int] | None
) -> None:
    assert locate_error(Confusion(solution=solution), bakers_problem()) == what


def test_the_two_numbers_of_a_quotient_are_both_needed() -> None:
    shared = Problem(question="24 m of rope for 6?", steps=[Step(expression="24 / 6", result=Quantity(value=4))])
    assert locate_error(Confusion(solution="24 - 6 = 18 m."), shared) is None


def test_where_nobody_knows_what_the_right_solution_calculates_no_quantity_is_one_too_many() -> None:
    unknown = bakers_problem()
    for step in unknown.steps:
        step.expression = ""
    assert locate_error(Confusion(solution="6 * 8 = 48 rolls.\n48 * 2 = 96 in all."), unknown) is None


def choice(**fields: str) -> str:
    usual = {"Thoughts": "Hm.", "Evaluation": "incorrect", "Move": "focus", "Intent": "guide_focus", "Solved": "n"}
    return json.dumps(usual | fields)


def test_a_move_is_read_however_it_is_spelled() -> None:
    read, strict = MoveChoice.read(choice(Move="Probing", Intent="Seek self-correction", Solved="No"))
    assert (read.move, read.intent, read.solved, strict) == ("probing", "seek_self_correction", "n", False)


@each_case
def test_a_move_that_is_none_is_asked_for_again_with_the_reason(fields: dict[str, str], reason: str) -> None:
    with pytest.raises(Unreadable, match=reason):
        MoveChoice.read(choice(**fields))
