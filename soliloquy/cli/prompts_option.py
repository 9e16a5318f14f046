"""The option for changed prompts, the same for every command that generates."""

from pathlib import Path

import click

from soliloquy.cli.options import EXISTING_FOLDER
from soliloquy.recipes.prompts import Prompts, changed_prompts, check_tags
from soliloquy.recipes.recipe import find
from soliloquy.runtime.model.settings import Models

PROMPTS = click.option(
    "--prompts",
    metavar="DIR",
    type=EXISTING_FOLDER,
    help="Changed prompts of the recipe, as `soliloquy recipes prompts` writes them.",
)


def chosen_prompts(recipe: str, place: Path | None, models: Models, *, on_kafka: bool) -> Prompts | None:
    """Returns the prompts of the folder; None without one. Raises UsageError and BrokenPrompt."""
    if place is None:
        return None
    if on_kafka:
        raise click.UsageError(
            "--prompts cannot be used with --kafka: the services have the prompts of their installed recipes: "
            "leave out --kafka, or install a recipe with these prompts"
        )
    if (changed := changed_prompts(recipe, place)) is None:
        return None
    find(recipe, changed).fingerprints()
    if any(models.endpoint_of(role).engine == "scripted" for role in models.roles):
        check_tags(changed)
    return changed
