"""`python -m benchmarks replay`."""

import asyncio
import json
from collections import Counter
from collections.abc import Mapping
from pathlib import Path

import click
from google.protobuf.message import Message

from benchmarks.command import AS_JSON
from benchmarks.replayed import ReplayedEngine
from benchmarks.sandbox_load import running_pool
from benchmarks.soliloquies import conversations
from soliloquy.cli.tables import facts
from soliloquy.cli.terminal import open_console
from soliloquy.recipes.soliloquy.recipe import RECIPE
from soliloquy.runs.assembly import conversation_handlers
from soliloquy.v1.conversation_pb2 import Conversation
from soliloquy.v1.events_pb2 import ConversationFinished, ConversationStarted
from soliloquy_services.curriculum.handler import attempt_at
from soliloquy_services.executor.handler import JobExecutor
from soliloquy_services.model.engines.scripted import ScriptedEngine

_TOGETHER = 16


@click.command()
@click.argument("folder", type=click.Path(exists=True, file_okay=False, path_type=Path))
@AS_JSON
def replay(*, folder: Path, as_json: bool) -> None:
    """Play published conversations through the loop again, and count what is kept.

    FOLDER holds published conversations of Code Soliloquies and their solutions. Every answer is the recorded one,
    programs run in sandboxes, and the scripted model answers what a rule sends back.
    """
    recorded = [conversation for _, conversation in conversations(folder)]
    played = asyncio.run(_played(recorded))
    found = counts(recorded, played)
    if as_json:
        click.echo(json.dumps(found))
        return
    open_console().print(facts({name: f"{count:,}" for name, count in found.items()}))


async def _played(recorded: list[Conversation]) -> list[Conversation]:
    scripted = ScriptedEngine()
    gate = asyncio.Semaphore(_TOGETHER)
    async with running_pool(sandboxes=2) as (pool, _):
        return await asyncio.gather(
            *(finished(conversation, place, scripted, pool, gate) for place, conversation in enumerate(recorded))
        )


async def finished(
    recorded: Conversation, place: int, scripted: ScriptedEngine, pool: JobExecutor, gate: asyncio.Semaphore
) -> Conversation:
    """Plays a conversation to its end, each answer from its own record."""
    handlers = conversation_handlers(ReplayedEngine([recorded], scripted), pool)
    started = attempt_at(recorded.problem, run=recorded.run, ordinal=place, attempt=0)
    event: Message = ConversationStarted(conversation=started)
    async with gate:
        while not isinstance(event, ConversationFinished):
            (event,) = await handlers[type(event)](event)
    return event.conversation


def counts(recorded: list[Conversation], played: list[Conversation]) -> Mapping[str, int]:
    said = [{text for turn in each.turns for text in (turn.student.text, turn.tutor.text)} for each in recorded]
    messages = [
        text in own
        for own, each in zip(said, played, strict=True)
        for turn in each.turns
        for text in (turn.student.text, turn.tutor.text)
    ]
    sent_back = Counter(one.rule for each in played for turn in each.turns for one in turn.rejected)
    rewinds = Counter(one.rule for each in played for one in each.rewinds)
    reasons = Counter(RECIPE.faults(each)[0].partition(":")[0] for each in played if RECIPE.faults(each))
    return {
        "conversations": len(recorded),
        "kept as published": sum(not RECIPE.faults(each) for each in recorded),
        "kept when mended": sum(not RECIPE.faults(each) for each in played),
        "messages": len(messages),
        "recorded messages": sum(messages),
        **{f"sent back for {rule}": count for rule, count in sorted(sent_back.items())},
        **{f"rewound for {rule}": count for rule, count in sorted(rewinds.items())},
        **{f"not kept for {rule}": count for rule, count in sorted(reasons.items())},
    }
