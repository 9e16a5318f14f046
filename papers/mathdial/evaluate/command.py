"""`soliloquy evaluate mathdial`."""

from pathlib import Path

import click
from click.core import ParameterSource

from soliloquy.cli.command import Command, setting
from soliloquy.cli.evaluate.options import evaluating
from soliloquy.cli.evaluate.output import Evaluated
from soliloquy.cli.evaluate.settings import EvaluationSettings
from soliloquy.cli.options import COUNT, EXISTING_FOLDER, Choice
from soliloquy.runtime.weights import is_encoder_decoder
from soliloquy_papers.mathdial.evaluate import MODEL, NEXT_STEP, PROMPTED, RESPONDING

# Options that require a model as the tutor, and options that require dialogues to be held.
_MODEL_OPTIONS = ("weights", "adapter", "free", "max_tokens", "noise")
_STUDENT_OPTIONS = ("dialogues", "problems", "seed", "student", "references", "bertscore")

# The options that do nothing with a tutor; with the folder of a dataset, all do.
_IDLE = {MODEL: (), PROMPTED: (), RESPONDING: ("dialogues", "student"), NEXT_STEP: _MODEL_OPTIONS}


def _check(context: click.Context) -> None:
    chosen = context.params
    tutor = chosen["tutored_by"]
    idle = _IDLE.get(tutor, (*_MODEL_OPTIONS, *_STUDENT_OPTIONS))
    for option in idle:
        if context.get_parameter_source(option) is ParameterSource.COMMANDLINE:
            raise click.UsageError(f"--{option.replace('_', '-')} cannot be used with --tutor {tutor}")
    if tutor not in _IDLE and not Path(tutor).is_dir():
        raise click.UsageError(
            f"--tutor {tutor}: neither {', '.join(_IDLE)} nor the folder of a dataset; "
            "`soliloquy import` makes a dataset of dialogues in another format"
        )
    if tutor == PROMPTED and chosen["student"] != MODEL:
        raise click.UsageError(f"--tutor {PROMPTED} requires --student {MODEL}: the others go by the moves of a tutor")
    if tutor == RESPONDING and not chosen["references"]:
        raise click.UsageError(
            f"--tutor {RESPONDING} requires --references: it answers the students of recorded dialogues"
        )
    if chosen["weights"] and tutor != RESPONDING and is_encoder_decoder(chosen["weights"]):
        raise click.UsageError(
            f"--weights {chosen['weights']} is an encoder-decoder model, which only responds: use --tutor {RESPONDING} "
            "and --references"
        )
    if chosen["bertscore"] and not chosen["references"]:
        raise click.UsageError("--bertscore requires --references")
    if chosen["student"] == MODEL and chosen["weights"]:
        raise click.UsageError("--student model cannot be used with --weights, which play the tutor only")


_TUTOR = (
    "The --model or --weights, the same with a plain instruction in place of the recipe, or with the prompt of "
    "`train --config mathdial-seq2seq`; a tutor that only asks for the next step, or recorded dialogues of a dataset."
)
_STUDENT = "Who plays the students: rules, or the roles planner and student of the --model."
_REFERENCES = "Also compare the tutor's replies with those in the dialogues of this dataset."
_BERTSCORE = "An encoder for the BERTScore of these replies, such as deberta-large-mnli."


@click.command(cls=Command)
@evaluating("arithmetic", _check)
def mathdial(
    settings: EvaluationSettings,
    *,
    tutored_by: str = setting(_TUTOR, "--tutor", default=MODEL, metavar="model|prompted|responding|next-step|DIR"),
    dialogues: int = setting("Dialogues to hold.", default=100, type=COUNT),
    student: str = setting(_STUDENT, default="scripted", type=Choice(["scripted", "model"])),
    references: Path | None = setting(_REFERENCES, type=EXISTING_FOLDER),
    bertscore: Path | None = setting(_BERTSCORE, type=EXISTING_FOLDER),
) -> Evaluated:
    """Evaluate a tutor with MathDial's protocol: students believe in a wrong solution of a word problem.

    Each dialogue has ten exchanges. Success@k is the share of dialogues in which the student gives the right answer
    within k exchanges, and Telling@k the share in which the tutor gives it away before. Both are reported in total and
    by the length of the problem. With --references, sBLEU, BERTScore and KF1 compare the tutor's replies with recorded
    ones, for problems seen in training and for others. The same seed gives every tutor the same students.
    """
    from soliloquy_papers.mathdial.evaluate.evaluation import MathDialEvaluation

    evaluation = MathDialEvaluation(
        settings=settings,
        tutored_by=tutored_by,
        dialogues=dialogues,
        student=student,
        references=references,
        bertscore=bertscore,
    )
    return evaluation.run()
