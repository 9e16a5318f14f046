"""`soliloquy evaluate mathdial`."""

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import click
from click.core import ParameterSource
from rich.table import Table

from soliloquy.cli.evaluate.delivering import deliver, figures_table
from soliloquy.cli.evaluate.dialogues import MODEL, NEXT_STEP, Dialogues
from soliloquy.cli.evaluate.options import problems_option, put_options, report_options, tutor_options
from soliloquy.cli.evaluate.tutor import chosen_tutor
from training.evaluation.mathdial.figures import CURVES, MEASURES
from training.evaluation.mathdial.judging import OWN
from training.evaluation.mathdial.page import page, shares
from training.evaluation.report import is_measured

# What says nothing where no model tutors, and where the dialogues were held already.
_OF_A_MODEL = ("weights", "adapter", "free", "max_tokens", "noise")
_OF_STUDENTS = ("dialogues", "problems", "seed", "student", "references", "bertscore")


@click.command()
@click.option(
    "--tutor",
    "who",
    default=MODEL,
    show_default=True,
    metavar="model|next-step|DIR",
    help="The --model or --weights, one that only asks for the next step, or the dialogues of a dataset as they are.",
)
@click.option("--dialogues", default=100, show_default=True, type=click.IntRange(min=1), help="How many are held.")
@click.option(
    "--student",
    default="scripted",
    show_default=True,
    type=click.Choice(["scripted", "model"]),
    help="Who errs and is tutored: by rule, or the --model, as its settings have the roles planner and student.",
)
@problems_option("arithmetic")
@put_options
@click.option(
    "--references",
    metavar="DIR",
    type=click.Path(path_type=Path, exists=True, file_okay=False),
    help="A dataset of dialogues: the tutor also replies to their histories, and is held to the replies given there.",
)
@click.option(
    "--bertscore",
    metavar="DIR",
    type=click.Path(path_type=Path, exists=True, file_okay=False),
    help="An encoder for BERTScore of these replies, such as deberta-large-mnli; without it they have none.",
)
@report_options
@tutor_options
@click.pass_context
def mathdial(
    context: click.Context,
    /,
    *,
    who: str,
    dialogues: int,
    student: str,
    problems: str,
    seed: int,
    datasets: Sequence[Path],
    in_flight: int,
    references: Path | None,
    bertscore: Path | None,
    name: str | None,
    model_cache: Path | None,
    out: Path,
    as_json: bool,
    quiet: bool,
    **tutor: Any,
) -> None:
    """Tutor students who believe in a wrong solution of a word problem, ten exchanges each.

    MathDial's interactive evaluation: in how many dialogues the student gives the right answer within k exchanges
    (Success@k), and in how many the tutor says it before (Telling@k), in total and by the length of the problem. With
    --references also its tutor response generation: sBLEU, BERTScore and KF1 of replies beside those that were given,
    for problems seen in training and for others. The same seed gives every tutor the same students.
    """
    _refuse(context, who, bertscore=bertscore, references=references, student=student, weights=tutor["weights"])
    chosen = chosen_tutor(context, problems=problems, cache=model_cache, **tutor)
    held = Dialogues(
        who=who,
        tutor=chosen,
        dialogues=dialogues,
        student=student,
        seed=seed,
        in_flight=in_flight,
        trained=datasets,
        references=references,
        bertscore=bertscore,
    )
    report, results, replies = held.report(name, quiet=quiet or as_json)
    deliver(
        out,
        report,
        [*results, *replies],
        page(report, results),
        tables=_tables(report),
        as_json=as_json,
        quiet=quiet,
    )


def _tables(report: Mapping[str, Any]) -> Iterator[Table]:
    """Success and telling by k, in total and by length; then all that is one number."""
    made = report["figures"]
    groups = {"all": made["metrics"]}
    groups |= {f"{steps} steps": of["metrics"] for steps, of in made["by_steps"].items()}
    by_k = Table("k", *groups, title=f"{report['name']}: {', '.join(CURVES)}")
    for k, metrics in enumerate(zip(*CURVES.values(), strict=True), start=1):
        by_k.add_row(str(k), *(", ".join(shares(of, metrics)) for of in groups.values()))
    yield by_k
    yield figures_table(report, [OWN, *(name for name in MEASURES if is_measured(report, name))])


def _refuse(
    context: click.Context,
    who: str,
    *,
    bertscore: Path | None,
    references: Path | None,
    student: str,
    weights: Path | None,
) -> None:
    """What says nothing beside what else is asked for."""
    idle = () if who == MODEL else _OF_A_MODEL if who == NEXT_STEP else (*_OF_A_MODEL, *_OF_STUDENTS)
    for option in idle:
        if context.get_parameter_source(option) is ParameterSource.COMMANDLINE:
            raise click.UsageError(f"--{option.replace('_', '-')} says nothing with --tutor {who}: leave it out")
    if idle and who != NEXT_STEP and not Path(who).is_dir():
        raise click.UsageError(
            f"--tutor {who}: neither {MODEL}, {NEXT_STEP} nor the folder of a dataset; `soliloquy import` makes one of "
            "dialogues in another format"
        )
    if bertscore and not references:
        raise click.UsageError("--bertscore says nothing without --references: name the dialogues to reply to")
    if student == MODEL and weights:
        raise click.UsageError("--student model with --weights: these play the tutor alone; name a --model for both")
