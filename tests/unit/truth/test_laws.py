"""An equation is right in whatever form it is written, if it holds for the values."""

import math

import pytest

from services.truth.laws import holds, laws_in

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
VALUES["n"] = math.sin(0.6) / math.sin(0.4)


def judged(text: str) -> list[bool | None]:
    return [holds(left, right, VALUES) for left, right in laws_in(text)]


@pytest.mark.parametrize(
    "text",
    [
        "I'd use h = g × t² / 2.",
        "h = ½ g t²",
        "t^2 = 2h/g, right?",
        "t = sqrt(2*h/g)",
        "t = √(2h/g) should do",
        "So F = ma!",
        "a = F / m and then I go on",
        "sin(alpha) = n × sin(beta)",
    ],
)
def test_a_true_law_is_true_in_every_form(text: str) -> None:
    assert True in judged(text)


@pytest.mark.parametrize("text", ["h = g × t / 2", "I think F = m / a.", "t = 2 * h / g", "alpha = n × beta"])
def test_a_wrong_law_is_wrong(text: str) -> None:
    assert judged(text) == [False]


@pytest.mark.parametrize("text", ["speed = distance / time", "x = 3", "t = ", "F = import os", "h = 57.6 m", "1 = 1"])
def test_what_cannot_be_judged_is_left_open(text: str) -> None:
    assert not {True, False} & set(judged(text))
