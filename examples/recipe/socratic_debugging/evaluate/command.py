"""`soliloquy evaluate debugging`."""

import click

from socratic_debugging.rules import check
from soliloquy.cli.command import Command, setting
from soliloquy.cli.evaluate.options import evaluating
from soliloquy.cli.evaluate.output import Evaluated
from soliloquy.cli.evaluate.settings import EvaluationSettings
from soliloquy.cli.options import COUNT
from soliloquy.v1.conversation_pb2 import Conversation, Ending


@click.command(cls=Command)
@evaluating("")
def debugging(
    settings: EvaluationSettings, *, cases: int = setting("Programs to talk about.", default=4, type=COUNT)
) -> Evaluated:
    """Evaluate a tutor by the bugs that its students find, and by what its replies tell."""
    from soliloquy.cli.evaluate.settings import evaluate_conversations

    titles = {"found": "bugs found", "kept_quiet": "never tells the fix"}
    return evaluate_conversations(settings, "debugging", _judge, titles=titles, cases=cases, max_turns=6)


def _judge(held: Conversation) -> dict[str, bool]:
    told = any(fault.startswith("told") for fault in check(held).faults)
    return {"found": held.ending == Ending.ENDING_SOLVED, "kept_quiet": not told}
