"""The option for changed prompts, the same for every command that takes them."""

from collections.abc import Mapping
from pathlib import Path

import click

from soliloquy.cli.options import EXISTING_FOLDER
from soliloquy.recipes.prompts import BrokenPrompt, changed_texts
from soliloquy.recipes.recipe import checked_prompts

PROMPTS = click.option(
    "--prompts",
    metavar="DIR",
    type=EXISTING_FOLDER,
    help="Changed prompts of the recipe, as `soliloquy recipes prompts` writes them.",
)


def chosen_prompts(recipe: str, place: Path | None) -> Mapping[str, str]:
    """Returns the files of the folder that differ from the recipe's own; raises BrokenPrompt."""
    if place is None:
        return {}
    changed = changed_texts(recipe, place)
    try:
        checked_prompts(recipe, changed)
    except BrokenPrompt as error:
        raise BrokenPrompt(f"{place}/{error}") from None
    return changed
