"""An equation is right in whatever form it is written, if it holds for the values."""

import math

import pytest

from soliloquy.recipes.scaffold.expected_answers import gives_expected
from soliloquy.recipes.scaffold.labels_pb2 import SubQuestion
from soliloquy.truth.algebra import algebra, are_equivalent, gives_algebra, is_solved_by
from soliloquy.truth.expressions import BadExpression, parse_expression
from soliloquy.truth.laws import expression, holds, law, law_between, laws_in
from tests.cases import each_case

VALUES = {
    "h": 57.6,
    "g": 9.81,
    "t": math.sqrt(2 * 57.6 / 9.81),
    "m": 2.0,
    "F": 10.0,
    "a": 5.0,
    "alpha": 0.6,
    "beta": 0.4,
}
VALUES |= {"U": 3.0, "I": 4.0, "P": 12.0, "L": 10 * math.log10(4), "b": math.log(12)}
VALUES["n"] = math.sin(0.6) / math.sin(0.4)


def judged(text: str) -> list[bool | None]:
    return [holds(left, right, VALUES) for left, right in laws_in(text)]


@each_case
def test_a_true_law_is_true_in_every_form(text: str) -> None:
    assert True in judged(text)


@pytest.mark.parametrize("text", ["h = g × t / 2", "I think F = m / a.", "t = 2 * h / g", "alpha = n × beta"])
def test_a_wrong_law_is_wrong(text: str) -> None:
    assert judged(text) == [False]


@pytest.mark.parametrize("text", ["speed = distance / time", "x = 3", "t = ", "F = import os", "h = 57.6 m", "1 = 1"])
def test_what_cannot_be_judged_is_left_open(text: str) -> None:
    assert not {True, False} & set(judged(text))


@pytest.mark.timeout(60)
@pytest.mark.parametrize(
    "text", ["F = " + "1^" * 2000 + "m", "F = " + "m a " * 1000, "a " * 2000 + "= F", "F = " + "-" * 280 + "m"]
)
def test_a_hostile_equation_is_left_open_in_a_moment(text: str) -> None:
    assert not any(holds(left, right, {"F": 6.0, "m": 2.0, "a": 4.0}) for left, right in laws_in(text))


def test_a_formula_is_a_law_of_whatever_symbols_it_has() -> None:
    gas = law("p / T = q / U = r / S")
    assert gas.symbols == {"p", "T", "q", "U", "r", "S"}
    assert gas.holds({"p": 1, "T": 2, "q": 2, "U": 4, "r": 3, "S": 6}, 1e-9)
    assert not gas.holds({"p": 1, "T": 2, "q": 2, "U": 4, "r": 3, "S": 7}, 1e-9)


@pytest.mark.parametrize("formula", ["h is g t² / 2", "h + 2", "h = ", "h = open(t)"])
def test_what_is_no_equation_is_no_law(formula: str) -> None:
    with pytest.raises(BadExpression, match="is not an equation"):
        law(formula)


@each_case
def test_a_law_that_a_sentence_quotes_tells_what_solves_it(
    sentence: str, symbol: str, solution: str, solved: bool
) -> None:
    [sides] = laws_in(sentence)
    quoted = law_between(*sides, {"h", "g", "t", "v", "U", "k", "Q", "r"})
    assert quoted is not None
    assert is_solved_by(quoted, symbol, parse_expression(solution)) == solved


@each_case
def test_two_laws_are_the_same_if_each_follows_from_the_other(one: str, other: str, same: bool | None) -> None:
    assert are_equivalent(law(one), law(other)) is same


@pytest.mark.parametrize(("text", "value"), [("3/4 × 100", 75.0), ("2π", 2 * math.pi), ("√2/2", math.sqrt(0.5))])
def test_what_is_written_down_to_calculate_is_an_expression(text: str, value: float) -> None:
    found = expression(text)
    assert found is not None
    assert found.value({}) == pytest.approx(value)


def test_words_are_no_expression() -> None:
    assert expression("as many as before") is None


FENCE, EQUATION, SQUARE = "P = 6x + 8", "3x + 5 = 26", "A = x² + 6x + 9"


@each_case
def test_every_equivalent_form_is_right(text: str, known: str) -> None:
    assert gives_algebra(text, known) is True


@each_case
def test_another_expression_or_equation_is_wrong(text: str, known: str) -> None:
    assert gives_algebra(text, known) is False


@pytest.mark.parametrize("text", ["I am not sure", "32 maybe", "What is x?", "the sum is 26"])
def test_what_states_no_answer_in_letters_is_left_open(text: str) -> None:
    assert gives_algebra(text, FENCE) is None


@pytest.mark.parametrize("answer", ["v = 26 m/s", "F = m × a", "72", "x = 7", "a = 50 / 20"])
def test_numbers_and_laws_are_no_algebra(answer: str) -> None:
    assert algebra(answer) is None


def test_a_plan_may_expect_an_equation() -> None:
    expected = SubQuestion(question="Which equation?", answer=EQUATION)
    assert gives_expected("I get 5 + 3x = 26", expected) is True
    assert gives_expected("5x + 3 = 26", expected) is False
    assert gives_expected("26", expected) is None
