"""Each language has the prompts of a recipe whole: their files, slots and tables."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from soliloquy.problems.files.step_questions import phrases_in
from soliloquy.problems.mistakes import causes
from soliloquy.problems.solving import worked_steps
from soliloquy.recipes import words as own_words
from soliloquy.recipes.packages import folder
from soliloquy.recipes.prompts import BrokenPrompt, own_files, own_texts, spoken_prompts
from soliloquy.recipes.recipe import find
from soliloquy.recipes.rules import Broken
from soliloquy.recipes.turn_faults import reason_of
from soliloquy.runtime.files import table_beside
from soliloquy.truth.locales import languages, locale

_SPOKEN = [
    pytest.param(recipe, language, id=f"{recipe} {language}")
    for recipe in ("soliloquy", "mathdial", "scaffold")
    for language in languages()
]


def _texts(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for one in value.values():
            yield from _texts(one)


def _has_words(path: Path) -> bool:
    return path.suffix == ".txt" or any(" " in text for text in _texts(table_beside(str(path), path.name)))


@pytest.mark.parametrize(("recipe", "language"), _SPOKEN)
def test_every_prompt_with_words_is_translated_and_can_be_filled_in(recipe: str, language: str) -> None:
    spoken, own = spoken_prompts(recipe, language), own_texts(recipe)
    assert {name for name, path in own_files(recipe).items() if _has_words(path)} <= spoken.keys() <= own.keys()
    assert [name for name, text in spoken.items() if text == own[name]] == []
    assert find(recipe).fingerprints(spoken).keys() == own.keys()


@pytest.mark.parametrize(("recipe", "language"), _SPOKEN)
def test_a_model_that_breaks_a_rule_reads_it_in_its_language(recipe: str, language: str) -> None:
    rules = find(recipe).rules
    assert rules is not None
    assert rules.said[language].keys() == rules.book.rules.keys()
    broken = Broken("repeated", 2, "again")
    assert reason_of([broken], rules, language) == f"{rules.said[language]['repeated']}: again"
    assert reason_of([broken], rules, "") == f"{rules.book.rules['repeated'].says}: again"


@pytest.mark.parametrize(("recipe", "language"), _SPOKEN)
def test_the_texts_of_training_are_translated_with_their_slots(recipe: str, language: str) -> None:
    place = folder(recipe)
    there = {
        path.relative_to(place / "languages" / language)
        for path in (place / "languages" / language).rglob("*.txt")
        if path.parent.name != "prompts"
    }
    own = {path.relative_to(place) for path in (*place.glob("*.txt"), *place.glob("response/*.txt"))}
    assert there == own
    for path in there:
        spoken, english = ((base / path).read_text("utf-8") for base in (place / "languages" / language, place))
        assert _slots(spoken) == _slots(english), path


def _slots(text: str) -> set[str]:
    return {word.strip('$.,:"„“<>()') for word in text.split() if "$" in word}


@pytest.mark.parametrize("language", languages())
def test_what_code_says_is_there_in_each_language(language: str) -> None:
    phrases_in(language)
    worked_steps.TEMPLATES.in_language(language)
    english = table_beside(own_words.__file__, "words.toml")
    assert locale(language).table["prompts"].keys() == english.keys()
    assert locale(language).table["causes"].keys() == table_beside(causes.__file__, "causes.toml").keys()


def test_a_recipe_without_a_translation_says_where_to_write_it() -> None:
    with pytest.raises(BrokenPrompt, match=r"no prompts of mathwell in the language de: write .*mathwell"):
        spoken_prompts("mathwell", "de")
