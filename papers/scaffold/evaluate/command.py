"""`soliloquy evaluate scaffold`."""

from pathlib import Path
from typing import Any

import click

from soliloquy.cli.command import Command
from soliloquy.cli.evaluate.options import evaluating
from soliloquy.cli.evaluate.output import Evaluated
from soliloquy.cli.evaluate.settings import EvaluationSettings
from soliloquy.cli.options import ATTEMPTS, EXISTING_FILE, MOST, count_option
from soliloquy.cli.parameters import Choice, whole

_TUTORS = ("planned", "plain")


class _NumberOrFile(click.ParamType[int | Path]):
    name = "number or file"

    def convert(self, value: Any, parameter: click.Parameter | None, context: click.Context | None) -> int | Path:
        kind = whole(0, MOST) if str(value).isdigit() else EXISTING_FILE
        return kind.convert(value, parameter, context)


_SEGMENTS = _NumberOrFile()


@click.command(cls=Command)
@click.option("--tutor", type=Choice(_TUTORS), default="planned", show_default=True, help="How the model tutors.")
@count_option("--dialogues", 300, "Dialogues to hold with each of the two students.")
@click.option(
    "--segments",
    default="210",
    show_default=True,
    type=_SEGMENTS,
    metavar="NUMBER|FILE",
    help="Segments to give one reply to: how many to prepare, or a JSONL file of people's.",
)
@click.option(
    "--tries", default=8, show_default=True, type=whole(0, ATTEMPTS), help="Tries of the student at each problem."
)
@click.option("--judge", type=EXISTING_FILE, metavar="FILE", help="Model settings; their planner judges.")
@click.option(
    "--student",
    type=EXISTING_FILE,
    metavar="FILE",
    help="Model settings; their student solves problems.  [default: scripted]",
)
@evaluating("arithmetic")
def scaffold(settings: EvaluationSettings, **chosen: Any) -> Evaluated:
    """Evaluate a tutor in the dimensions of the ScaffoldLM paper.

    The tutor holds dialogues with a cooperative student, who understands everything, and with a mixed one, who is also
    confused or off the topic. It also replies to single segments, which end with an answer or a question. --tutor
    planned makes a plan from the problem and follows it as the recipe does; --tutor plain is told once how to tutor.
    A --judge decides what no rule can; without one those dimensions are reported as not measured.
    """
    from soliloquy_papers.scaffold.evaluate.evaluation import ScaffoldEvaluation

    return ScaffoldEvaluation(settings=settings, **chosen).run()
