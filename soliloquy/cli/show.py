"""`soliloquy show`."""

from typing import Any

import click

from soliloquy.cli.command import Command, setting
from soliloquy.cli.terminal import open_console
from soliloquy.cli.view import show_conversation, show_prompts, show_rejections
from soliloquy.dataset.reading import Dataset
from soliloquy.problems.solving.independent_programs import program_prompt
from soliloquy.recipes.packages import DEFAULT
from soliloquy.recipes.recipe import find
from soliloquy.runtime.failure import Failure
from soliloquy.v1.conversation_pb2 import Conversation


@click.command(cls=Command)
@click.argument("folder", metavar="DIR|URL")
@click.argument("wanted", metavar="[ID]", required=False)
def show(
    folder: str,
    *,
    rejected: bool = setting("Show a rejected conversation, and why it was rejected."),
    prompts: bool = setting("Show the prompts of each turn, from the run's own texts or the installed recipe's."),
    wanted: str | None,
) -> None:
    """Show a conversation with the tutor's hidden soliloquies.

    ID may be a prefix of an id, as `soliloquy tail` lists them; without one, shows the first conversation. With
    --rejected and no ID, also lists all rejected conversations with their reasons.
    """
    console = open_console(soft_wrap=False)
    dataset = Dataset(folder)
    everything = dataset.conversations(rejected=rejected)
    conversation = dataset.find(wanted, rejected=rejected) if wanted else next(everything, None)
    if conversation is None:
        raise Failure(f"{folder} holds no {'rejected' if rejected else 'accepted'} conversations yet")
    rejections = dataset.rejections() if rejected else {}
    if not prompts:
        show_conversation(conversation, console, rejections.get(conversation.id, ()))
        if not wanted:
            show_rejections(rejections, console)
    elif not conversation.run.max_turns:
        raise Failure(f"{conversation.id} was imported, so its prompts are unknown")
    else:
        programs = (call for call in conversation.problem.enrichment.calls if call.role == "codegen")
        asked_before = [(0, program_prompt(conversation.problem)) for _ in programs]
        recipe = find(conversation.run.recipe)
        try:
            asked = [*asked_before, *recipe.prompts(conversation)]
        except (LookupError, ValueError, TypeError) as error:
            raise Failure(
                f"{conversation.id} does not follow its recipe ({error!r}), so its prompts are unknown"
            ) from error
        show_prompts(asked, console)


def record_of(conversation: Conversation) -> dict[str, Any]:
    """Returns the conversation as readable JSON."""
    return find(conversation.run.recipe or DEFAULT).record(conversation)
