"""`soliloquy show`: reads a dataset's conversations in the terminal."""

from typing import Any

import click
from rich.console import Console

from soliloquy.cli.view import show_conversation, show_index, show_prompts
from soliloquy.dataset.reading import Dataset, NoDataset
from soliloquy.recipes.recipe import DEFAULT, find
from soliloquy.runs.failure import Failure
from soliloquy.v1.conversation_pb2 import Conversation


@click.command()
@click.argument("folder", metavar="DIR|URL")
@click.option("--id", "conversation_id", help="The conversation to show, by its id or how that begins.")
@click.option("--list", "as_list", is_flag=True, help="List all conversations instead of showing one.")
@click.option("--prompts", is_flag=True, help="Show the prompts of each turn as the templates stand.")
def show(folder: str, *, conversation_id: str | None, as_list: bool, prompts: bool) -> None:
    """Show a conversation with the tutor's hidden soliloquies; without --id the first one."""
    console = Console(soft_wrap=False, highlight=False)
    try:
        dataset = Dataset(folder)
        if as_list:
            show_index(map(record_of, dataset), console)
            return
        conversation = dataset.find(conversation_id) if conversation_id else next(iter(dataset), None)
    except NoDataset as missing:
        raise Failure(str(missing)) from missing
    if conversation is None:
        raise Failure(f"{folder} holds no accepted conversation so far")
    if not prompts:
        show_conversation(record_of(conversation), console)
    elif not conversation.run.max_turns:
        raise Failure(f"{conversation.id} was imported: nobody knows its prompts")
    else:
        show_prompts(find(conversation.run.recipe).prompts(conversation), console)


def record_of(conversation: Conversation) -> dict[str, Any]:
    """The conversation as readable JSON."""
    return find(conversation.run.recipe or DEFAULT).record(conversation)
