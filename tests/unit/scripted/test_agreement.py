"""Wordings agree with the names that are put into them."""

import pytest

from soliloquy.recipes.scripted.agreement import agreeing, is_plural
from soliloquy.recipes.scripted.phrasebook import Phrasebook


@pytest.mark.parametrize(
    "name",
    ["people in vehicles", "tickets in one part", "savings", "pages read on Sunday", "litres when full", "tickets"],
)
def test_a_name_of_several_things_has_its_verbs_in_the_plural(name: str) -> None:
    assert is_plural(name)
    assert agreeing(f"Does the {name} depend on it? The {name} is right.", name) == (
        f"Do the {name} depend on it? The {name} are right."
    )


@pytest.mark.parametrize(
    "name", ["number of seats", "mass of the steam", "gas constant", "loss of heat", "radius", "Ines", ""]
)
def test_a_name_of_one_thing_leaves_a_wording_as_it_is(name: str) -> None:
    assert agreeing(f"The {name} comes out. What is the {name}?", name) == f"The {name} comes out. What is the {name}?"


def test_a_phrasebook_agrees_with_the_name_in_a_slot() -> None:
    book = Phrasebook({"tutor": {"ask": ["How does the {name} follow?"]}})
    assert list(book.wordings("tutor", "ask", name="people in vehicles")) == ["How do the people in vehicles follow?"]
