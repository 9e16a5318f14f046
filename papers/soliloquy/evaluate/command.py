"""`soliloquy evaluate soliloquy`."""

import click

from soliloquy.cli.command import Command, setting
from soliloquy.cli.evaluate.options import evaluating
from soliloquy.cli.evaluate.output import Evaluated
from soliloquy.cli.evaluate.settings import EvaluationSettings
from soliloquy.cli.options import COUNT


@click.command(cls=Command)
@evaluating("physics")
def soliloquy(
    settings: EvaluationSettings, *, questions: int = setting("Questions to ask.", default=25, type=COUNT)
) -> Evaluated:
    """Evaluate how a tutor verifies numbers, with the four metrics of the Code Soliloquies paper.

    The scripted student answers each question once with a right and once with a wrong number. The truth check and the
    sandbox judge whether the tutor uses Python if and only if there is a number to verify, whether its code runs, and
    whether it tells right from wrong. The same seed gives every model the same cases.
    """
    from soliloquy_papers.soliloquy.evaluate.evaluation import evaluate

    return evaluate(settings, questions)
