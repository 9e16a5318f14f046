"""`soliloquy evaluate debugging`."""

import click

from socratic_debugging.rules import check
from soliloquy.cli.command import Command
from soliloquy.cli.evaluate.options import evaluating
from soliloquy.cli.evaluate.output import Evaluated
from soliloquy.cli.evaluate.settings import EvaluationSettings
from soliloquy.cli.options import count_option
from soliloquy.v1.conversation_pb2 import Conversation, Ending


@click.command(cls=Command)
@count_option("--cases", 4, "Programs to talk about.")
@evaluating("")
def debugging(settings: EvaluationSettings, cases: int) -> Evaluated:
    """Evaluate a tutor by the bugs that its students find, and by what its replies tell."""
    from soliloquy.cli.evaluate.settings import evaluate_conversations

    titles = {"found": "bugs found", "kept_quiet": "never tells the fix"}
    return evaluate_conversations(settings, "debugging", _judge, titles=titles, cases=cases, max_turns=6)


def _judge(held: Conversation) -> dict[str, bool]:
    told = any(fault.startswith("told") for fault in check(held).faults)
    return {"found": held.ending == Ending.ENDING_SOLVED, "kept_quiet": not told}
