"""Promises of the reader of written calculations: what is right stays right, what is false is found."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from soliloquy.truth.calculations import calculations_of

RIGHT = [
    "The force is √(144 + 25) N = √169 N = 13 N",
    "√16 m² = 4 m",
    "so F = 50 kg × 10 m/s² = 500 N.",
    "She has 5 apples + 3 pears = 8 fruits",
    "A quarter is 1/4 of 20 = 5, and 20% of 50 = 10",
    "With tax: 50 + 20% = 60",
    "60 km/h * 30 min = 30 km",
    "5 * 2 = 10 + 3 = 13",
    "**5 * 3** = **15**",
    r"\(\frac{1}{2}\times 2\times (25.2)^2 = 635\text{ J}\)",
    r"$\sqrt{2 \cdot 9.81 \cdot 20} \approx 19.8\,\text{m/s}$",
    "10 boxes x 12 pens per box = 120 pens",
    "$900 x 3 = $2,700",
    "8 × 10^7 / 6.4 × 10^6 = 12.5",
    "6.67 × 10^-11 × 6 × 10^24 / (6.4 × 10^6)^2 = 9.77 m/s^2",
    "100/3 = 33.3, or 33.34 if you round up",
    "12 divided by 4 is 3",
    "10 sin 30° = 5",
    "10 * sin(30) = 5",
    "2π * 3 = 18.85",
    "(7 – 1.96) 126 = 635 J",
    "5 m + 20 cm = 520 cm",
    "50 cents × 4 = $2",
    "It is 40.5 * 5740 = 232470, rounded 2.3247e5",
    "2 1/2 * 4 = 10",
    "0.05 kg x 10 ms^-2 = 0.5 N",
    "0.6 / 2π = 0.0955",
    "½ · 2 kg · (3 m/s)² = 9 J",
    "F = 10 kg * (9.8 m/s^2) = 98 N",
    r"54 km/h = \frac{54}{3.6}\,\text{m/s} = 15\,\text{m/s}",
    r"C = 2\pi \cdot 4\,\text{m} = 8\pi\,\text{m} \approx 25.13\,\text{m}",
    r"\begin{aligned} E &= \frac12 (3\,\text{kg})(4\,\text{m/s})^2 \\ &= 24\,\text{J} \end{aligned}",
    r"p = 70\,\text{kg} \times 8\,\text{m/s} = 560\,\text{kg}\cdot\text{m/s}",
    r"2\frac{1}{3}\cdot 6 = 14",
    r"\sqrt{36 + 64} = \boxed{10}",
    "34 / 40 = 0.85 = 85 %",
    "3 divided by 8 equals 0.375, that is 37.5 percent",
    "It goes 420 m plus its own 180 m, altogether 600 m",
    "26 miles times 1.609 km per mile come to about 41.8 km",
    "96 MB / (1 MB/s) = 96 s",
    "48/12 = 4 dozen, and 2 dozen x 80 = 1920",
    "2.4 km a day\n2.4*5=12 km",
    "That is **3 × 4 = 12**, with `2 * 6 = 12` as a check",
    "1. 80 cm = 0.8 m\n2. 0.8 m * 2 = 1.6 m",
    "1.250,50 € + 310,75 € = 1.561,25 €",
    "160 * 12 = 1.920 €, and 1.920 + 760 = 2.680 €",
    "1.920 kg * 2 = 3.840 kg",
    r"0.8 \times 4186 \times 25 = 83\,720",
    "2 500 - 450 = 2 050",
    "2 km, that is 2,000 m",
    "2 h 30 min = 150 min",
    "4 kg*m^2/s^2 = 4 Joules",
    "1 m^3 = 10^6 cm^3",
    "- 590 x 70 = - 41300 m",
    "45 m / 9 seconds^2 = 5 m/s^2",
    "6 cm * 7 cm = 42 cm squared",
    "1800 kg × 1.5 m/s2 = 2700 N",
    "6 apples x 3 = 18 => 18 / 2 = 9",
    "3/4 h = 45 min, and 2 * 3/4 h = 90 min",
    "240 km / 3 h = 80 km/h, and 240/3 h = 80",
    "*Result:* 3 × 7 = *21*, __4 × 7 = 28__",
    "(1/2) m u^2 = (1/2) m (200)^2",
]
FALSE = [
    ("The force is √169 N = 14 N", 13, 14),
    ("The area is 7 * 5 = 36 m^2", 35, 36),
    ("4 * 3.5 = 15", 14, 15),
    ("240/3 = 90", 80, 90),
    ("It walks 3.6 km / 2 h = 1.8 m/s", 0.5, 1.8),
    ("Together 9,910 + 100 = 9,910", 10010, 9910),
    ("x = 5, and then 3 * 4 = 13", 12, 13),
    ("the total is 12 + 7 * 5 = 35", 47, 35),
    ("v = 20 m / 4 s = 6 m/s", 5, 6),
    ("each gets 17 / 2 = 9.5 sweets", 8.5, 9.5),
    ("25% of 80 = 25", 20, 25),
    (r"\frac{3}{4} \times 12 = 8", 9, 8),
    ("3 × 10^4 × 2 = 6 × 10^5", 60000, 600000),
    ("20 minus 4 is 14", 16, 14),
    ("F = 50 kg × 10 m/s² = 500 J", 500, 500),
    ("F = 10 kg * (9.8 m/s^2) = 99 N", 98, 99),
    (r"\frac{90\,\text{N}}{0.3\,\text{m}^2} = 300\,\text{W}", 300, 300),
    (r"\frac{54}{3.6}\,\text{m/s} = 18\,\text{m/s}", 15, 18),
    (r"8\pi\,\text{m} \approx 50.27\,\text{m}", 25.132741228718345, 50.27),
    ("34 / 40 = 0.85 = 80 %", 0.85, 80),
    ("160 quarts divided by 4 is 41", 40, 41),
    ("350 m plus its own 150 m, altogether 550 m", 500, 550),
    ("A pen costs 1.85: 24 × 1.85 = **$46.40**", 44.4, 46.4),
    ("51 ÷ 68 is good, 0.75, i.e. **85 %**", 0.75, 85),
    ("Step 2) 2 * 30 = 70", 60, 70),
    ("- 32 / 8 = 4\n- 96 / 16 = 8", 6, 8),
    ("2.340,00 + 1.075,50 + 310,75 = 3.762,25 €", 3726.25, 3762.25),
    ("230 * 15 = 3.540 €", 3450, 3.54),
    ("3 200 € - 704 € = 2 596 €", 2496, 2596),
    ("It is 83.7 kJ, which is 837 J.", 83700, 837),
    ("37 700 cm\nthat is 3770 m", 377, 3770),
    ("2 h 30 min = 130 min", 150, 130),
    ("4 kg*m^2/s^2 = 9 Joules", 4, 9),
    ("1 m^3 = 19^6 cm^3", 1e6, 19**6),
    ("- 590 x 70 = - 21300 m", -41300, -21300),
    ("3/4 h = 40 min", 45, 40),
    ("*Result:* 3 × 7 = *24*", 21, 24),
    ("__Result:__ 3 × 7 = __24__", 21, 24),
    ("-2 * -3 = -6", 6, -6),
    ("1'250 + 300 = 1'650", 1550, 1650),
    (r"p = (0.45)(22) = 99\ \mathrm{kg\,m/s}", 9.9, 99),
]
# Symbols, words and lists, which say nothing that could be worked through.
SILENT = [
    "Half of 12 + 4 is 8.",
    "1 parsec is 3.09 x 10^16 m",
    "we divide 15 L by 2.5 L/min and get 6 min",
    "she divided 4 by 1/8 to get 32",
    "2x + 20 = 36",
    "profit - 5 * 3 = 85",
    "4x - 5 = 10",
    "F = m a",
    "Answer = 12",
    "m * 9.8 = 49",
    "pages 3-5 = chapter one",
    "v^2 = 2 (9.8) s",
    "the speed × 3 = 15",
    "6+6+3 does not equal 18",
    "v² = 0 – (-29.4)2 = 2 (9.8) s",
    "(20/100) A x 200 = 8000",
    "27 – [0.01/ (10.44 × 10^(–5))] T1 = 27 – 95.7",
    "G = 6.674 * (10 ** -11)\nm = 2 * 10",
    "Divide by 4: x = 7",
    "5m + 3 = 18",
    "3x-4 = 26",
    "2x -3 = 7",
    "A plank of 2 m is 40 cm wide",
    "5 m, which is 2 m more than the other",
    "It takes 10^5, V = 3",
]


@pytest.mark.parametrize("text", RIGHT)
def test_what_is_right_is_found_right(text: str) -> None:
    found = calculations_of(text)
    assert found
    assert all(link.right for link in found), found


@pytest.mark.parametrize(("text", "value", "stated"), FALSE)
def test_what_is_false_is_found_with_both_numbers(text: str, value: float, stated: float) -> None:
    false = [link for link in calculations_of(text) if not link.right]
    [link] = false
    assert link.value == pytest.approx(value)
    assert link.stated == stated


@pytest.mark.parametrize("text", SILENT)
def test_what_cannot_be_worked_through_is_not_judged(text: str) -> None:
    assert not calculations_of(text)


def test_a_calculation_gives_its_expression_and_its_place() -> None:
    text = "It costs 3 x $4.50 = $13.50 in all."
    [link] = calculations_of(text)
    assert (link.expression, text[link.start : link.end], link.stated) == ("3 * 4.5", "3 x $4.50 = $13.50", 13.5)


@pytest.mark.parametrize("stated", ["15 x 10^5 J", "15 × 10⁵ J", "1.5e6 J", "1,500,000 J"])
def test_the_unit_stands_behind_the_whole_number(stated: str) -> None:
    [link] = calculations_of(f"E = 10000 * 150 = {stated}.")
    assert (link.stated, link.unit) == (1.5e6, "J")


@given(st.text("0123456789 +-*/^=().,xm²√%$\\{}\nab", max_size=200))
def test_no_text_breaks_the_reader(text: str) -> None:
    for link in calculations_of(text):
        assert text[link.start : link.end] == link.text


@pytest.mark.parametrize(
    "text",
    ["5 + 10^" + "9" * 5000 + " = 3", "1e" + "9" * 5000 + " + 1 = 3", "10^400 + 1 = 2", "10⁻⁻5 = 1", "\\frac²3 = 1"],
)
def test_a_number_that_no_float_holds_makes_nothing_false(text: str) -> None:
    assert not calculations_of(text)


@pytest.mark.parametrize(
    "text",
    [
        "(" * 20_000,
        "1+" * 10_000 + "1 = 2",
        "\\frac" * 4_000,
        "-" * 20_000 + "1 = 1",
        "a 1 " * 5_000 + "= 1",
        "9" * 50_000 + " = 1",
        "9" * 50_000 + "th = 1",
        "1" + ",000" * 12_000 + " = 1",
        "word " * 20_000 + "= 1",
        "1 + " + "a " * 25_000 + "2 = 3",
        "add " * 12_000 + "= 1",
    ],
)
@pytest.mark.timeout(60)
def test_hostile_texts_are_read_in_a_moment(text: str) -> None:
    assert len(calculations_of(text)) <= 1
