"""The reason that a student gives for a mistake fits the mistake."""

from soliloquy.problems.mistakes.causes import departure
from soliloquy.truth.expressions import parse_expression
from tests.cases import each_case


@each_case
def test_brackets_roots_and_radians_are_blamed_only_where_they_are_to_blame(right: str, wrong: str, kind: str) -> None:
    assert departure(parse_expression(right).tree, parse_expression(wrong).tree).kind == kind
