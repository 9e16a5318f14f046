"""A number is read whichever way a person writes it, and what is none is left alone."""

import pytest

from soliloquy.truth.numbers import numbers_in, numbers_in_digits


@pytest.mark.parametrize(
    ("text", "values"),
    [
        ("I get about 3.43 s", [3.43]),
        ("-5, (−7) and .5", [-5, -7, 0.5]),
        ("between 4-2 and x-3", [4, 2]),
        ("t = T - 273.15, so -3", [273.15, -3]),
        ("3,400 J and 12,345,678", [3400, 12345678]),
        ("1.2e-4 or 2.1 x 10^-3 or 5×10⁻³ or 4 \\times 10^{-6} or 7*10**2", [1.2e-4, 2.1e-3, 5e-3, 4e-6, 700]),
        ("10^5 Pa", [1e5]),
        ("3/4 of an hour, 1 1/2 h, 2 ½ and \\frac{3}{8}", [0.75, 1.5, 2.5, 0.375]),
        ("2.1 thousand joules, 3 million", [2100, 3e6]),
        ("thirty-three and seven", [33, 7]),
        (
            "a ten-thousandth of a metre, two thousandths, ten thousandths or a billionth of it",
            [1e-4, 2e-3, 0.01, 1e-9],
        ),
        ("12kN 3.4s 5%", [12, 3.4, 5]),
        ("1½ cups, 2⅝ and ⅚ of it", [1.5, 2.625, 5 / 6]),
        ("-\\frac{3}{4}, -½ and 2\\frac{1}{2}", [-0.75, -0.5, 2.5]),
        ("\\frac{1}{2} - \\frac{1}{4} and T_{a}-40", [0.5, 0.25, 40]),
        ("10⁶ Pa, 10⁻³ and 10²", [1e6, 1e-3, 100]),
        ("minus 5 degrees, and it is minus 0.5 or negative 3/4", [-5, -0.5, -0.75]),
        ("20 apples minus 5, x minus 4, you have to minus 3. Minus 2 from it.", [20, 5, 4, 3, 2]),
        ("an hour and a half, 2 hours and a quarter, a cup and a half", [1.5, 2.25, 1.5]),
        ("a dime and a quarter, 3 eggs and a half dozen, a mile and a half of it", [3, 0.5]),
        ("five ninths, three-sevenths, a twelfth of it and one twentieth", [5 / 9, 3 / 7, 1 / 12, 0.05]),
        ("seven fifth graders on the twenty-fifth", [7, 20]),
        ("v = 2*57.6/9.81 = 11.74", [2, 57.6, 9.81, 11.74]),
    ],
)
def test_numbers_are_read_as_a_person_reads_them(text: str, values: list[float]) -> None:
    assert [number.value for number in numbers_in(text)] == pytest.approx(values)


@pytest.mark.parametrize("text", ["v2 and x_1", "m/s^2", "s⁻¹", "t² + r³", "no digits at all", "1e999", "10^400", ""])
def test_names_and_exponents_are_no_numbers(text: str) -> None:
    assert list(numbers_in(text)) == []


@pytest.mark.parametrize(
    ("text", "digits", "half"),
    [("33.60", 4, 0.005), ("0.0045", 2, 0.00005), ("1200", 2, 50), ("2.0e3", 2, 50), ("7", 1, 0.5)],
)
def test_what_rounding_hides_is_half_a_unit_of_the_last_digit(text: str, digits: int, half: float) -> None:
    [number] = numbers_in(text)
    assert number.digits == digits
    assert number.half == pytest.approx(half)


def test_words_are_left_alone_where_digits_are_asked_for() -> None:
    assert [number.value for number in numbers_in_digits("One thing: it takes 3 s, not 4.5 s.")] == [3, 4.5]


@pytest.mark.parametrize(
    "text",
    ["10^" + "9" * 5000, "1e" + "9" * 5000, "5 x 10⁻⁻", "10⁵⁻ J", "1,000" + ",000" * 400, f"9{'0' * 307} million"],
)
def test_a_number_that_no_float_holds_is_no_number(text: str) -> None:
    assert all(abs(number.value) < 1e300 for number in numbers_in(text))
