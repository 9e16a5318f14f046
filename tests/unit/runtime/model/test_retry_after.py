"""Both forms of Retry-After, and invalid ones."""

from email.utils import formatdate

import pytest

from soliloquy.runtime.model.openai_format import MOST_SECONDS, retry_after

NOW = 1_700_000_000.0


@pytest.mark.parametrize(
    ("told", "seconds"),
    [
        ("3", 3.0),
        ("0", 0.0),
        ("1.5", 1.5),
        (" 2 ", 2.0),
        (formatdate(NOW + 90, usegmt=True), 90.0),
        (formatdate(NOW - 90, usegmt=True), 0.0),
        ("-5", 0.0),
        ("999999", MOST_SECONDS),
        ("inf", MOST_SECONDS),
        (formatdate(NOW + 10**6, usegmt=True), MOST_SECONDS),
        ("nan", 0.0),
        ("", 0.0),
        ("soon", 0.0),
        ("Mon, 99 Foo 2026", 0.0),
        ("1 2 3 4 5 6 7", 0.0),
    ],
)
def test_seconds_and_dates_are_honoured_and_nonsense_is_nothing(told: str, seconds: float) -> None:
    assert retry_after({"Retry-After": told}, NOW) == seconds


def test_a_server_that_does_not_say_is_not_waited_for() -> None:
    assert retry_after({}, NOW) == 0.0
