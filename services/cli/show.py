"""`soliloquy show`: reads a dataset's conversations in the terminal."""

from pathlib import Path

import click
from rich.console import Console

from services.cli.failure import Failure
from services.cli.view import show_conversation, show_index, show_prompts
from services.client.dataset import Dataset, NoDataset
from services.recipes.recipe import find


@click.command()
@click.argument("folder", metavar="DIR", type=click.Path(path_type=Path, exists=True, file_okay=False))
@click.option("--id", "conversation_id", help="The conversation to show, by its id or how that begins.")
@click.option("--list", "as_list", is_flag=True, help="List all conversations instead of showing one.")
@click.option("--prompts", is_flag=True, help="Show the prompts of each turn as the templates stand.")
def show(folder: Path, *, conversation_id: str | None, as_list: bool, prompts: bool) -> None:
    """Show a conversation with the tutor's hidden soliloquies; without --id the first one."""
    console = Console(soft_wrap=False, highlight=False)
    try:
        dataset = Dataset(folder)
        if as_list:
            show_index(list(dataset), console)
            return
        record = dataset.find(conversation_id) if conversation_id else next(iter(dataset), None)
    except NoDataset as missing:
        raise Failure(str(missing)) from missing
    if record is None:
        raise Failure(f"{folder} holds no accepted conversation so far")
    if prompts:
        recipe = find(record["recipe"])
        show_prompts(recipe.prompts(recipe.restore(record)), console)
    else:
        show_conversation(record, console)
