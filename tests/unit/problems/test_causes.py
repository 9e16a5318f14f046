"""The reason that a student gives for a mistake fits the mistake."""

import pytest

from soliloquy.problems.mistakes.causes import departure
from soliloquy.truth.expressions import parse_expression


@pytest.mark.parametrize(
    ("right", "wrong", "kind"),
    [
        ("2 * (l + w)", "2 * l + w", "without_brackets"),
        ("a / (b * c)", "a / b * c", "without_brackets"),
        ("p * a / b", "p * b / a", "other"),
        ("math.sqrt(p / (4 * q))", "math.sqrt(p / q) / (4 * p)", "other"),
        ("math.sqrt(g * h)", "g * h", "unrooted"),
        ("math.degrees(math.asin(s))", "math.asin(s)", "radians"),
        ("v * math.sin(math.radians(a))", "v * math.sin(a)", "radians"),
        ("math.exp(k)", "k", "other"),
    ],
)
def test_brackets_roots_and_radians_are_blamed_only_where_they_are_to_blame(right: str, wrong: str, kind: str) -> None:
    assert departure(parse_expression(right).tree, parse_expression(wrong).tree).kind == kind
