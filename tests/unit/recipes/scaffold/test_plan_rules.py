"""Checks what a plan is refused for, and what is no reason to refuse it."""

import pytest

from soliloquy.recipes.scaffold.expected_answers import gives_law, gives_quantity, miscalculations
from soliloquy.recipes.scaffold.labels_pb2 import Plan, SubQuestion
from soliloquy.recipes.scaffold.plan_rules import faults, undecided
from soliloquy.recipes.scaffold.planner import why_unplannable
from soliloquy.v1.conversation_pb2 import Problem, Quantity, Step
from tests.cases import each_case
from tests.unit.recipes.conversations import problem as car

FORCE = SubQuestion(question="What net force acts on the car?", answer="3600 N", steps=[1])
WORK = SubQuestion(question="How much work does the engine do with it?", answer="180 kJ", steps=[2])


def plan(*questions: SubQuestion) -> Plan:
    return Plan(analysis="The force first, then the work.", questions=questions or (FORCE, WORK))


def asked(question: str, answer: str, *steps: int) -> SubQuestion:
    return SubQuestion(question=question, answer=answer, steps=steps)


def broken(*questions: SubQuestion, problem: Problem | None = None) -> set[str]:
    return {rule for rule, _ in faults(plan(*questions), problem or car())}


def slide() -> Problem:
    """Its first step is an equation."""
    mu = Quantity(symbol="mu", name="coefficient of friction", value=0.13106)
    steps = [
        Step(number=1, ask="Which equation holds?", formula="mu × g × d = v² / 2"),
        Step(number=2, ask="How large is the coefficient?", formula="mu = v² / (2 × g × d)", result=mu),
    ]
    return Problem(question="A puck slides 3.5 m from 3 m/s. What is mu?", steps=steps, answer=mu, tolerance=0.01)


@pytest.mark.parametrize("count", [0, 1, 8, 12])
def test_a_plan_has_two_to_seven_sub_questions(count: int) -> None:
    questions = [FORCE] * (count - 1) + [WORK] * min(count, 1)
    made = Plan(analysis="..", questions=questions)
    assert ("count", f"{count} sub-questions; 2 to 7 are wanted") in list(faults(made, car()))


@pytest.mark.parametrize("answer", ["180001.5 kJ", "180 J", "18000 J", "-180 kJ", "a lot of work", "3600 N"])
def test_the_last_answer_is_the_problems(answer: str) -> None:
    assert "last" in broken(FORCE, asked(WORK.question, answer, 2))


@pytest.mark.parametrize(
    "answer", ["180000 J", "180,000 J", "1.8 × 10^5 J", "W = 3600 × 50 = 180000 J", r"\boxed{180000}", "It is 180 kJ."]
)
def test_the_same_answer_may_be_written_in_many_ways(answer: str) -> None:
    assert broken(FORCE, asked(WORK.question, answer, 2)) == set()


@pytest.mark.parametrize(
    ("questions", "rule"),
    [
        ((asked(FORCE.question, "3600 N", 3), WORK), "order"),
        ((asked(FORCE.question, "3600 N"), WORK), "order"),
        ((WORK, FORCE), "order"),
        ((asked("What is given?", "the mass of the car", 2), WORK), "uncovered"),
        ((asked(FORCE.question, "the product of mass and acceleration", 1), WORK), "uncovered"),
        ((FORCE, asked(WORK.question, "180 kJ", 1, 2)), "coarse"),
        ((asked(FORCE.question, "360 N", 1), WORK), "contradiction"),
        ((asked(FORCE.question, "3600 m/s", 1), WORK), "contradiction"),
        ((asked(FORCE.question, "1500 × 2 = 3600 N", 1), WORK), "contradiction"),
        ((FORCE, asked(FORCE.question, "4000 N", 1), WORK), "contradiction"),
        ((asked("Which net force, 3600 N, acts on the car?", "3600 N", 1), WORK), "given_away"),
        ((asked("Which force does 180000 J of work?", "3600 N", 1), WORK), "given_away"),
        ((asked("Now the net force.", "3600 N", 1), WORK), "unclear"),
        ((asked("Which force " + "really " * 60 + "acts?", "3600 N", 1), WORK), "unclear"),
        ((FORCE, FORCE, WORK), "unclear"),
    ],
)
def test_a_plan_that_will_not_do_is_refused_by_the_rule_it_breaks(
    questions: tuple[SubQuestion, ...], rule: str
) -> None:
    assert rule in broken(*questions)


def test_numbers_of_the_problem_and_of_earlier_answers_may_be_said() -> None:
    assert (
        broken(
            asked("Which force gives 1500 kg an acceleration of 2.4 m/s^2?", "3600 N", 1),
            asked("How much work do 3600 N over 50 m do?", "180 kJ", 2),
        )
        == set()
    )


def test_a_request_is_as_good_as_a_question() -> None:
    assert broken(asked("Think of Newton's law. Find the net force.", "3600 N", 1), WORK) == set()


def test_what_is_put_in_may_be_asked_for_before_what_comes_out() -> None:
    assert broken(asked("What is the mass of the car?", "1500 kg", 1), FORCE, WORK) == set()


def test_an_answer_without_a_unit_has_the_one_that_is_asked_for() -> None:
    steps = [Step(number=1, result=Quantity(value=40)), Step(number=2, result=Quantity(value=80))]
    walk = Problem(question="He walks 40 km twice. How many kilometers is that?", steps=steps, answer=steps[1].result)
    once = asked("How far is it once?", "40 km", 1)
    assert broken(once, asked("And twice?", "80 km", 2), problem=walk) == set()
    assert "last" in broken(once, asked("And twice?", "80 m", 2), problem=walk)


def test_the_equation_in_numbers_may_be_asked_for_before_what_comes_out() -> None:
    in_numbers = car()
    in_numbers.steps[0].formula = "F = 1500 × 2.4"
    approach = asked("How do you find the force?", "F = 1500 × 2.4", 1)
    assert broken(approach, FORCE, WORK, problem=in_numbers) == set()


@each_case
def test_code_that_nobody_has_explained_is_never_an_expected_answer(answer: str, is_code: bool) -> None:
    work = asked("How does the work follow from the force and the distance?", answer, 2)
    assert ("code" in broken(FORCE, work, WORK)) is is_code


def test_one_other_word_asks_for_something_else() -> None:
    assert (
        broken(
            asked("What does the red folder weigh?", "3600 N", 1),
            asked("What does the green folder weigh?", "180 kJ", 2),
        )
        == set()
    )
    assert broken(asked("What do you get for F?", "3600 N", 1), asked("What do you get for W?", "180 kJ", 2)) == set()
    assert "unclear" in broken(FORCE, asked("What net force acts on this car?", "3600 N", 1), WORK)


def test_comments_behind_the_answer_belong_to_the_last_sub_question() -> None:
    commented = car()
    commented.steps.extend(Step(number=number, explanation="So it is strong.") for number in (3, 4, 5))
    assert broken(FORCE, asked(WORK.question, "180 kJ", 2, 3, 4, 5), problem=commented) == set()


def test_words_are_left_to_the_verifier_and_numbers_are_not() -> None:
    approach = asked("Which law connects force and acceleration?", "Newton's second law", 1)
    assert undecided(plan(approach, FORCE, WORK), car()) == [1]


@pytest.mark.parametrize("answer", ["mu × g × d = v² / 2", "v^2 = 2 mu g d", "2*g*d*mu = v**2", "mu = v²/(2 g d)"])
def test_an_equation_may_have_any_equivalent_form(answer: str) -> None:
    last = asked("How large is mu?", "0.131", 2)
    assert broken(asked("Which equation connects friction and speed?", answer, 1), last, problem=slide()) == set()


@pytest.mark.parametrize("answer", ["mu × g × d = v²", "mu = 2 g d / v^2"])
def test_another_equation_is_a_contradiction(answer: str) -> None:
    first = asked("Which equation connects friction and speed?", answer, 1)
    assert "contradiction" in broken(first, asked("How large is mu?", "0.131", 2), problem=slide())


@each_case
def test_an_answer_is_read_as_the_quantity_it_is(answer: str, value: float, unit: str, is_it: bool | None) -> None:
    wanted = Quantity(value=value, unit=unit)
    assert gives_quantity(answer, wanted, tolerance=0.001, least_digits=3) is is_it


def test_what_cannot_be_compared_is_not_judged() -> None:
    assert gives_law("by Newton's law", "F = m × a") is None
    assert gives_law("p = q × r", "F = m × a") is None
    assert gives_law("a = F / m", "the force is shared") is None


def test_a_calculation_that_does_not_come_out_is_found() -> None:
    assert list(miscalculations("48 / 2 = 24 and 48 + 24 = 72")) == []
    assert list(miscalculations("10 / 3 = 3.33")) == []
    assert list(miscalculations("48 + 24 = 62 clips")) == ["48 + 24 = 62"]


def test_a_solution_that_contradicts_itself_or_has_no_answer_is_not_planned() -> None:
    wrong = car()
    wrong.steps[0].expression = "m * a"
    wrong.steps[0].result.value = 3000
    assert why_unplannable(wrong) == "contradiction: step 1 of the solution does not come to 3000 N"
    elsewhere = car()
    elsewhere.answer.value = 17
    assert why_unplannable(elsewhere) == "contradiction: no step of the solution comes to its answer, 17 J"
    assert "no number" in why_unplannable(Problem(question="Why does a bird sit on a wire?", steps=car().steps))
    assert "no steps" in why_unplannable(Problem(question="How much?", answer=car().answer))
    assert why_unplannable(car()) == ""
