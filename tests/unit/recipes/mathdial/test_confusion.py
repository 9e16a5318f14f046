"""Which of the sampled solutions a student is to believe in, and when there is none."""

import pytest

from soliloquy.recipes.mathdial.claims import comes_to_answer, false_equations, final_answer, slips
from soliloquy.recipes.mathdial.confusion import NoConfusion, choose_confusion, sampling_refusal
from soliloquy.v1.conversation_pb2 import Problem, Quantity, Step
from tests.cases import each_case

RIGHT = 28.0
LONG = "The bags hold the same number, so I put the numbers of the problem together as it tells me to. " * 3


def problem(steps: int = 2) -> Problem:
    listed = [Step(number=number, expression="a * b") for number in range(1, steps + 1)]
    return Problem(question="How many?", steps=listed, answer=Quantity(value=RIGHT), tolerance=0.01)


def solution(answer: float, *, equation: str = "14*12=168", text: str = LONG) -> str:
    return f"{text}\n14 * 12 = <<{equation}>>168.\n#### {answer:g}"


def samples(*answers: float) -> list[str]:
    """Fifty: these, and right ones."""
    return [solution(answer) for answer in answers] + [solution(RIGHT)] * (50 - len(answers))


def test_the_most_frequent_wrong_answer_is_the_confusion() -> None:
    confusion = choose_confusion(samples(162, 280, 280, 280, 162), problem())
    assert (confusion.answer, confusion.agreeing, confusion.samples) == (280, 3, 50)
    assert "<<" not in confusion.solution
    assert "####" not in confusion.solution
    assert [(one.because, one.samples) for one in confusion.discarded] == [("right", 45)]


@pytest.mark.parametrize(
    ("spoiled", "because"),
    [
        (LONG + "\n14 * 12 = 168.", "without a final answer"),
        (solution(280, equation="14*12=186"), "miscalculated"),
        (solution(28.1), "nearly right"),
        (solution(280, text="Short."), "too short"),
        (solution(280, text=LONG * 2), "too long"),
    ],
)
def test_a_sample_that_is_no_confusion_is_passed_over_and_counted(spoiled: str, because: str) -> None:
    confusion = choose_confusion([spoiled] * 20 + samples(162)[:30], problem())
    assert confusion.answer == 162
    assert {one.because: one.samples for one in confusion.discarded} == {because: 20, "right": 29}
    with pytest.raises(NoConfusion, match=f"no (wrong sample will do|sample is wrong): .*20 {because}"):
        choose_confusion([spoiled] * 20 + samples()[:30], problem())


def test_a_problem_that_no_sample_gets_wrong_is_refused() -> None:
    with pytest.raises(NoConfusion, match="no sample is wrong: 50 right") as none:
        choose_confusion(samples(), problem())
    assert [(one.because, one.samples) for one in none.value.confusion.discarded] == [("right", 50)]


@pytest.mark.parametrize(("characters", "kept"), [(299, False), (300, True), (500, True), (501, False)])
def test_a_solution_has_300_to_500_characters(characters: int, kept: bool) -> None:
    shortest = len(solution(280, text=""))
    solutions = [solution(280, text="x" * (characters - shortest)), *samples()[:49]]
    assert len(solutions[0]) == characters
    if kept:
        assert choose_confusion(solutions, problem()).answer == 280
    else:
        with pytest.raises(NoConfusion, match=r"1 too (short|long)"):
            choose_confusion(solutions, problem())


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


@each_case
def test_an_equation_that_is_so_is_no_miscalculation(equation: str) -> None:
    assert false_equations(f"It is <<{equation}>>.") == []


@pytest.mark.parametrize(
    "equation", ["3*4=13", "14*52=729", "7.28*52=379.5", "10/4=3", "5/0=0", "import os=1", "x*2=4"]
)
def test_an_equation_that_is_not_so_or_is_none_is_a_miscalculation(equation: str) -> None:
    assert false_equations(f"It is <<{equation}>>.") == [equation]


def test_a_slip_is_found_in_what_a_student_writes() -> None:
    assert list(slips("I took 14 × 12 = 186, and then 186 / 6 = 31.")) == ["14 × 12 = 186"]
    assert list(slips("That is an hour (2 * 30 = 60 minutes), and 3 x $68 = $204.")) == []
    assert list(slips("So 3 x $68 = $2448.")) == ["3 x $68 = $2448"]


@each_case
def test_the_right_answer_is_the_number_that_a_message_ends_up_with(said: str, right: bool) -> None:
    assert comes_to_answer(said, problem()) is right
