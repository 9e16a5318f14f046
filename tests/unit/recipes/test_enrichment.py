"""An enriched solution keeps to its source, and what is right is not taken for wrong."""

import pytest

from soliloquy.recipes.soliloquy.answers import Enriched
from soliloquy.recipes.soliloquy.planner import check, faults, one_step_per_line, steps_in
from soliloquy.runtime.answers import Unreadable
from soliloquy.v1.conversation_pb2 import Problem, Step

CAR = Problem(
    question="A 1,500 kg car speeds up from rest at 2.40 m/s^2 over 0.5 km. Three friends watch. How fast is it then?",
    solution="Step 1) s = 0.5 × 1000 = 500 m. Step 2) v² = 2 × a × s, so v = √(2 × 2.4 × 500) = 48.99 m/s. "
    "With K = ⅓ m v² or 3.4e5 J at hand it takes 50 / 20 = 2.5 times as long.",
    steps=[Step(number=1, formula="T = t + 273.15")],
)


def enriched(detailed: str, outline: str) -> Enriched:
    return Enriched.model_validate({"Detailed Solution": detailed, "Solution Outline": outline})


def found(*, detailed: str = "Nothing.", outline: str = "Nothing.") -> list[str]:
    return list(faults(enriched(f"Step 1) {detailed}", f"Step 1) {outline}"), CAR))


@pytest.mark.parametrize(
    "text",
    [
        "m = 1500 kg, a = 2.4 m/s²; in other words 1 500 kg and 2.400 m/s^2",
        "W = 3.4 × 10^5 J = 340,000 J = 3.4·10⁵ J",
        "v ≈ 49.0 m/s, rounded from 48.99 m/s",
        "a = 2.4 m s^-2 = 2.4 m s⁻² = 2.4 m/s2 = 2.4 m s^{-2} = 2.4 m·s^(–2)",
        "50 divided by 20 gives 2.5, a third of it is divided by 3",
        "v to the power of 4, or with exponent 7, and 20 to the power -5",
        "the speed changes by -2.4 m/s each second",
        "v_0 = 0 m/s, as it starts from rest",
        "v_f^2 - v_i^2 = 2 a d, v1 = v_2, a_1 + 2 a_2 = 0, H2O",
        "E = 1/2 m v² = ½ m v^2 = 0.5 m v² = (1/2)mv² = \\frac{1}{2} m v^2",
        "T = 2π√(l/g), A = 4πr², V = 4 π r³ / 3, P = 3/2 N k T",
        "1/f = 1/d_o + 1/d_i, η = 1 − T_c/T_h, x = (-b + √(b² - 4ac)) / (2a)",
        "h = g × t² / 2, F = 2 m g, v = sqrt(2*a*s), $v^2 = 2 a s$",
        "R = 8 η l / (π r^4) with π ≈ 3.14",
        "1 kg = 1000 g, 1 h = 3600 s and 1 min = 60 s",
        "There are 100 cm in a metre and 60 seconds in a minute; each kilometre is 1000 m",
        "as in Step 1, steps 2 and 3 and equation 4",
        "by Newton's 2nd law the two forces act on all four wheels; three friends watch",
    ],
)
def test_what_the_source_says_in_any_writing_is_no_fault(text: str) -> None:
    assert found(detailed=text) == []


@pytest.mark.parametrize(
    ("text", "named"),
    [
        ("v = 48.9898 m/s", "48.9898 m/s"),
        ("with g = 9.81 m/s² it falls", "9.81 m/s²"),
        ("m = 15 kg", "15 kg"),
        ("it is 17 % more", "17 %"),
        ("7 × 8 of them", "7"),
        ("in sixty seconds", "sixty seconds"),
        ("1 km = 100 m", "100 m"),
        ("90 seconds in a minute", "90 seconds"),
        ("6 cm further", "6 cm"),
        ("10^{-5} m", "10^{-5} m"),
    ],
)
def test_a_number_that_is_not_in_the_source_is_named(text: str, named: str) -> None:
    fault, *_ = found(detailed=text)
    assert fault.startswith(f'"Detailed Solution": {named!r} is in neither the question nor the solution')


def test_the_outline_is_held_to_the_source_too() -> None:
    assert any("'77 m' is in neither" in fault for fault in found(outline="Go on for 77 m."))


@pytest.mark.parametrize(
    "text",
    [
        "Use v² = 2 a s and solve for v: v = √(2 a s).",
        "E = 1/2 m v², E = ½ m v^2, h = g × t² / 2, P = 3/2 N k T, F = 2 m g",
        "Convert kilometres to metres (1 km = 1000 m), that is, multiply by 1000.",
        "Set v_0 = 0, as the car starts from rest with a mass of 1500 kg.",
        "1/f = 1/g + 1/b, η = 1 − T_c / T_h, R = 8 η l / (π r^4)",
        "Change to kelvin by T = t + 273.15; η = 1 - T_c / T_h.",
        "W = 1/2 k (x_2^2 - x_1^2), v_f^2 - v_i^2 = 2 a d",
        "Take the result of step 1, then go on as in equation 2.",
    ],
)
def test_an_outline_may_name_formulas(text: str) -> None:
    assert found(outline=text) == []


@pytest.mark.parametrize(
    ("text", "named"),
    [
        ("The acceleration a = 2.4 m/s² is given.", "= 2.4 m/s²"),
        ("Find v ≈ 48.99 m/s.", "≈ 48.99 m/s"),
        ("This gives 500 m.", "gives 500 m"),
        ("Convert it, resulting in 500 m.", "resulting in 500 m"),
        ("v = √(2 × 2.4 × 500)", "2.4 × 500"),
        ("Use 2.4 m/s² × 500 m.", "2.4 m/s² × 500 m"),
        ("T is 20 + 273.15", "20 + 273.15"),
        ("F = 1500 × a", "= 1500"),
        ("Divide: 50 / 20.", "50÷20"),
        ("Multiply 2.4 by 500.", "2.4 by 500"),
        ("v² is 2(2.4)(500)", "2(2.4"),
        ("Take 20 from 50: 50 − 20.", "50 − 20"),
    ],
)
def test_a_calculation_in_the_outline_is_named(text: str, named: str) -> None:
    assert f'"Solution Outline": {named!r} is a calculation; name what is done' in found(outline=text)


@pytest.mark.parametrize(
    "text",
    [
        "Step 1) First. Step 2) Second, by Step 1).",
        "Step 1: First.\nStep 2: Second, by Step 1).",
        "Here it is:\n**Step 1)** First.\n\n**Step 2)** Second,\nby Step 1).",
        "1. First.\n2. Second, by Step 1).",
        "step 1. First. step 2. Second, by Step 1).",
    ],
)
def test_steps_are_read_however_they_are_numbered(text: str) -> None:
    assert steps_in(text) == ["First.", "Second, by Step 1)."]
    assert one_step_per_line(text) == "Step 1) First.\nStep 2) Second, by Step 1)."


@pytest.mark.parametrize(
    "text", ["First, then second.", "Step 1) First.", "Step 2) First. Step 1) Second.", "Step 1) a 3) b"]
)
def test_steps_that_are_missing_or_out_of_order_are_told(text: str) -> None:
    right = "Step 1) First. Step 2) Second."
    problem = Problem(steps=[Step(number=1), Step(number=2)])
    for detailed, outline, name in ((text, right, "Detailed Solution"), (right, text, "Solution Outline")):
        [fault] = faults(enriched(detailed, outline), problem)
        assert (
            fault
            == f'"{name}": {len(steps_in(text))} steps are numbered in order; 2 are wanted, "Step 1)" to "Step 2)"'
        )


def test_an_empty_step_is_told() -> None:
    problem = Problem(steps=[Step(number=1), Step(number=2)])
    answer = enriched("Step 1) . Step 2) Second.", "Step 1) First. Step 2) Second.")
    assert list(faults(answer, problem)) == ['"Detailed Solution": step 1 is empty']


def test_a_model_is_told_the_first_few_faults_once_each() -> None:
    answer = enriched("Step 1) 7 m, 7 m, 11 m, 13 m and 17 m", "Step 1) Nothing.")
    with pytest.raises(Unreadable) as told:
        check(answer, CAR)
    assert [number for number in ("7 m", "11 m", "13 m", "17 m") if repr(number) in str(told.value)] == [
        "7 m",
        "11 m",
        "13 m",
    ]
    assert str(told.value).count("'7 m'") == 1
