"""`soliloquy show`."""

from typing import Any

import click
from rich.console import Console

from soliloquy.cli.view import show_conversation, show_index, show_prompts
from soliloquy.dataset.reading import Dataset
from soliloquy.recipes.recipe import DEFAULT, find
from soliloquy.runtime.failure import Failure
from soliloquy.v1.conversation_pb2 import Conversation


@click.command()
@click.argument("folder", metavar="DIR|URL")
@click.option("--id", "conversation_id", help="The conversation to show, by its id or a prefix of it.")
@click.option("--list", "as_list", is_flag=True, help="List all conversations instead.")
@click.option("--prompts", is_flag=True, help="Show the prompts of each turn, from the current templates.")
def show(folder: str, *, conversation_id: str | None, as_list: bool, prompts: bool) -> None:
    """Show a conversation with the tutor's hidden soliloquies.

    Without --id, shows the first conversation.
    """
    console = Console(soft_wrap=False, highlight=False)
    dataset = Dataset(folder)
    if as_list:
        show_index(dataset, console)
        return
    conversation = dataset.find(conversation_id) if conversation_id else next(iter(dataset), None)
    if conversation is None:
        raise Failure(f"{folder} holds no accepted conversations yet")
    if not prompts:
        show_conversation(conversation, console)
    elif not conversation.run.max_turns:
        raise Failure(f"{conversation.id} was imported, so its prompts are unknown")
    else:
        show_prompts(find(conversation.run.recipe).prompts(conversation), console)


def record_of(conversation: Conversation) -> dict[str, Any]:
    """Returns the conversation as readable JSON."""
    return find(conversation.run.recipe or DEFAULT).record(conversation)
