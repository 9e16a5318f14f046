"""`soliloquy demo`: plays a few conversations, shows one of them, and says what to do next."""

import time
from collections.abc import Iterator
from importlib.util import find_spec

import click
import uvloop
from rich.console import RenderableType
from rich.padding import Padding
from rich.syntax import Syntax
from rich.text import Text

from soliloquy.cli.command import Command
from soliloquy.cli.terminal import echo, open_console, visible
from soliloquy.problems.sources import ProblemSource
from soliloquy.recipes.packages import DEFAULT
from soliloquy.runs.dry_run import Judged, own_sandboxes, rehearsed
from soliloquy.runs.plan import Plan, problems_of
from soliloquy.runtime.extensions import installation
from soliloquy.runtime.model.settings_file import shipped_models
from soliloquy.runtime.values import shown
from soliloquy.v1.conversation_pb2 import Conversation, Intent, Turn

_PROBLEMS = "physics"
_CONVERSATIONS = 8


@click.command(cls=Command)
def demo() -> None:
    """Play a few conversations on this machine and show one.

    A scripted stand-in plays student and tutor, and each program of the tutor's runs in gVisor. Nothing is kept.
    """
    source = problems_of(_PROBLEMS, DEFAULT)
    plan = Plan.of(
        DEFAULT,
        source,
        problems=_PROBLEMS,
        models=shipped_models(),
        conversations=_CONVERSATIONS,
        seed=17,
        noise="none",
        max_turns=20,
        max_attempts=10,
        workers=1,
        in_flight=_CONVERSATIONS,
        latency=0.0,
    )
    began = time.monotonic()
    judged = uvloop.run(_played(plan, source))
    seconds = time.monotonic() - began
    accepted = [conversation for conversation, is_accepted in judged if is_accepted]
    console = open_console(soft_wrap=False)
    for part in _transcript(min(accepted, key=_dullness)):
        console.print(part)
    programs = sum(len(turn.calculation.attempts) for conversation, _ in judged for turn in conversation.turns)
    echo(f"\nOne of {len(judged)} conversations, {programs} programs run in gVisor, in {seconds:.1f} s. None is kept.")
    for step, command in _next_steps():
        echo(f"{step}: {command}")


async def _played(plan: Plan, source: ProblemSource) -> Judged:
    async with own_sandboxes() as sandbox:
        return await rehearsed(plan, source, sandbox, plan.conversations)


def _dullness(conversation: Conversation) -> tuple[bool, int]:
    """Puts first the shortest conversation in which the tutor corrects a number."""
    is_wrong = any(turn.student.intent == Intent.INTENT_WRONG for turn in conversation.turns)
    return not is_wrong, len(conversation.turns)


def _transcript(conversation: Conversation) -> Iterator[RenderableType]:
    yield Text(visible(conversation.problem.question))
    for turn in conversation.turns:
        if turn.student.text:
            yield Text.assemble(("\nStudent  ", "bold cyan"), visible(turn.student.text))
        yield from (Padding(part, (0, 0, 0, 9)) for part in _program(turn))
        yield Text.assemble(("Tutor    ", "bold magenta"), visible(turn.tutor.text))


def _program(turn: Turn) -> Iterator[RenderableType]:
    for attempt in turn.calculation.attempts:
        yield Syntax(attempt.code, "python", theme="ansi_dark", background_color="default", word_wrap=True)
        values = ", ".join(f"{value.name} = {shown(value.value)}" for value in attempt.execution.values)
        yield Text(visible(f"→ {values or attempt.execution.error}"), "bold green" if values else "bold red")


def _next_steps() -> Iterator[tuple[str, str]]:
    if find_spec("pyarrow") is None:
        yield "Install what keeps datasets", installation("run")
    yield "Generate a dataset", f"soliloquy generate --problems {_PROBLEMS} --conversations 50 --out dataset"
    yield "Use your own problems and model", "soliloquy init"
