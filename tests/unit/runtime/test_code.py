"""Code and names are read however they were written down."""

import pytest

from soliloquy.runtime.code import names, unfenced
from tests.cases import each_case


@each_case
def test_code_is_freed_from_every_kind_of_fence(fenced: str) -> None:
    assert unfenced(fenced) == "x = 1"


def test_code_without_a_fence_keeps_its_lines() -> None:
    code = "import math\n\ndef f():\n    return '`'  # not a fence: `x`, ```y```\n\nx = f()"
    assert unfenced(code) == code


@pytest.mark.parametrize("listed", ["a, b", "a b", "['a', 'b']", "`a`, `b`", "a; b", "(a, b)", "a,\nb,"])
def test_names_come_one_by_one_however_they_are_listed(listed: str) -> None:
    assert names(listed) == ["a", "b"]
