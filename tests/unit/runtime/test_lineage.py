"""A lineage grows by each service once, and holds nothing but digests, whoever wrote it."""

from hypothesis import given
from hypothesis import strategies as some

from soliloquy.runtime.lineage import MOST, checked, extended, short_digest

STUDENT, TUTOR = short_digest(b"student"), short_digest(b"tutor")


def test_each_service_is_in_it_once_and_one_without_a_description_is_not() -> None:
    assert extended("", STUDENT) == STUDENT
    assert extended(f"{STUDENT} {TUTOR}", STUDENT) == extended(STUDENT, TUTOR) == f"{STUDENT} {TUTOR}"
    assert extended(STUDENT, "") == STUDENT


def test_it_stops_growing() -> None:
    lineage = ""
    for number in range(2 * MOST):
        lineage = extended(lineage, short_digest(str(number).encode()))
    assert lineage.split() == [short_digest(str(number).encode()) for number in range(MOST)]


def test_what_is_no_digest_is_cut_off() -> None:
    assert checked(f"{STUDENT}\x00<b> {TUTOR} {TUTOR.upper()} {TUTOR}0 {STUDENT}") == f"{STUDENT} {TUTOR}"
    many = [short_digest(str(number).encode()) for number in range(2 * MOST)]
    assert checked(" ".join(many)).split() == many[:MOST]


@given(some.text())
def test_any_text_becomes_a_lineage_that_stays_as_it_is(text: str) -> None:
    assert checked(checked(text)) == checked(text)
