"""`soliloquy evaluate scaffold`."""

from pathlib import Path
from typing import Any

import click

from soliloquy.cli.command import Command, setting
from soliloquy.cli.evaluate.options import evaluating
from soliloquy.cli.evaluate.output import Evaluated
from soliloquy.cli.evaluate.settings import EvaluationSettings
from soliloquy.cli.options import ATTEMPTS, COUNT, EXISTING_FILE, MOST, Choice, whole

_TUTORS = ("planned", "plain")


class _NumberOrFile(click.ParamType[int | Path]):
    name = "number or file"

    def convert(self, value: Any, parameter: click.Parameter | None, context: click.Context | None) -> int | Path:
        kind = whole(0, MOST) if str(value).isdigit() else EXISTING_FILE
        return kind.convert(value, parameter, context)


_DIALOGUES = "Dialogues to hold with each of the two students."
_SEGMENTS = "Segments to give one reply to: how many to prepare, or a JSONL file of people's."
_STUDENT = "Model settings; their student solves problems.  [default: scripted]"


@click.command(cls=Command)
@evaluating("arithmetic")
def scaffold(
    settings: EvaluationSettings,
    *,
    tutor: str = setting("How the model tutors.", default="planned", type=Choice(_TUTORS)),
    dialogues: int = setting(_DIALOGUES, default=300, type=COUNT),
    segments: int | Path = setting(_SEGMENTS, default="210", type=_NumberOrFile(), metavar="NUMBER|FILE"),
    tries: int = setting("Tries of the student at each problem.", default=8, type=whole(0, ATTEMPTS)),
    judge: Path | None = setting("Model settings; their planner judges.", type=EXISTING_FILE, metavar="FILE"),
    student: Path | None = setting(_STUDENT, type=EXISTING_FILE, metavar="FILE"),
) -> Evaluated:
    """Evaluate a tutor in the dimensions of the ScaffoldLM paper.

    The tutor holds dialogues with a cooperative student, who understands everything, and with a mixed one, who is also
    confused or off the topic. It also replies to single segments, which end with an answer or a question. --tutor
    planned makes a plan from the problem and follows it as the recipe does; --tutor plain is told once how to tutor.
    A --judge decides what no rule can; without one those dimensions are reported as not measured.
    """
    from soliloquy_papers.scaffold.evaluate.evaluation import ScaffoldEvaluation

    evaluation = ScaffoldEvaluation(
        settings=settings,
        tutor=tutor,
        dialogues=dialogues,
        segments=segments,
        tries=tries,
        judge=judge,
        student=student,
    )
    return evaluation.run()
