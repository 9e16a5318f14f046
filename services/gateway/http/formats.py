"""The export formats that a run can be downloaded in."""

from collections.abc import Iterator

from services.gateway.http.choices import FormatChoice
from soliloquy.dataset.exports.format import FORMATS, NAMES, find
from soliloquy.recipes.packages import known_recipes, package
from soliloquy.runtime.extensions import BadPackage


def formats() -> list[FormatChoice]:
    return list(_usable())


def _usable() -> Iterator[FormatChoice]:
    for name in NAMES:
        try:
            form = find(name)
        except BadPackage:
            # `soliloquy export --help` says what is wrong with it.
            continue
        suffix = form.suffixes[0] if form.suffixes else ".zip"
        yield FormatChoice(name=name, title=form.title, suffix=suffix, recipe=_recipe_of(name))


def _recipe_of(name: str) -> str:
    module = FORMATS.value(name)
    return next((recipe for recipe in known_recipes() if module.startswith(f"{package(recipe)}.")), "")
