"""The export formats that a run can be downloaded in."""

from dataclasses import dataclass

from soliloquy.recipes.packages import known_recipes, packages
from soliloquy.runtime.extensions import BadPackage


@dataclass(frozen=True, kw_only=True, slots=True)
class FormatChoice:
    name: str
    title: str
    # The end of the file's name; a format that is a folder is sent as one file.
    suffix: str
    # The only recipe whose conversations it holds; empty for a format of all recipes.
    recipe: str


def formats() -> list[FormatChoice]:
    # Imported here because it loads Arrow, which no start should wait for.
    from soliloquy.dataset.exports.format import FORMATS, NAMES, find

    found = []
    for name in NAMES:
        try:
            form = find(name)
        except BadPackage:
            # `soliloquy export --help` says what is wrong with it.
            continue
        suffix = form.suffixes[0] if form.suffixes else ".zip"
        module = FORMATS.value(name)
        recipe = next(
            (recipe for recipe in known_recipes() if module.startswith(tuple(f"{each}." for each in packages(recipe)))),
            "",
        )
        found.append(FormatChoice(name=name, title=form.title, suffix=suffix, recipe=recipe))
    return found
