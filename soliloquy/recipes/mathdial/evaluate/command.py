"""`soliloquy evaluate mathdial`."""

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import click
from click.core import ParameterSource
from rich.table import Table

from soliloquy.cli.evaluate.options import problems_option, question_options, report_options, tutor_options
from soliloquy.cli.evaluate.output import deliver, figures_table
from soliloquy.cli.evaluate.tutor import chosen_tutor
from soliloquy.cli.options import EXISTING_FOLDER, count_option
from soliloquy.recipes.mathdial.evaluate.evaluation import MODEL, NEXT_STEP, MathDialEvaluation

# Options that require a model as the tutor, and options that require dialogues to be held.
_MODEL_OPTIONS = ("weights", "adapter", "free", "max_tokens", "noise")
_STUDENT_OPTIONS = ("dialogues", "problems", "seed", "student", "references", "bertscore")


@click.command()
@click.option(
    "--tutor",
    "tutored_by",
    default=MODEL,
    show_default=True,
    metavar="model|next-step|DIR",
    help="The --model or --weights, a tutor that only asks for the next step, or recorded dialogues of a dataset.",
)
@count_option("--dialogues", 100, "Dialogues to hold.")
@click.option(
    "--student",
    default="scripted",
    show_default=True,
    type=click.Choice(["scripted", "model"]),
    help="Who plays the students: rules, or the roles planner and student of the --model.",
)
@problems_option("arithmetic")
@question_options
@click.option(
    "--references",
    metavar="DIR",
    type=EXISTING_FOLDER,
    help="Also compare the tutor's replies with those in the dialogues of this dataset.",
)
@click.option(
    "--bertscore",
    metavar="DIR",
    type=EXISTING_FOLDER,
    help="An encoder for the BERTScore of these replies, such as deberta-large-mnli.",
)
@report_options
@tutor_options
@click.pass_context
def mathdial(
    context: click.Context,
    /,
    *,
    tutored_by: str,
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
    """Evaluate a tutor with MathDial's protocol: students believe in a wrong solution of a word problem.

    Each dialogue has ten exchanges. Success@k is the share of dialogues in which the student gives the right answer
    within k exchanges, and Telling@k the share in which the tutor gives it away before. Both are reported in total and
    by the length of the problem. With --references, sBLEU, BERTScore and KF1 compare the tutor's replies with recorded
    ones, for problems seen in training and for others. The same seed gives every tutor the same students.
    """
    from soliloquy.recipes.mathdial.evaluate.page import page

    _check_options(
        context, tutored_by, bertscore=bertscore, references=references, student=student, weights=tutor["weights"]
    )
    chosen = chosen_tutor(context, problems=problems, cache=model_cache, **tutor)
    held = MathDialEvaluation(
        tutored_by=tutored_by,
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
    """Yields a table of success and telling by k, and one of the other metrics."""
    from soliloquy.recipes.mathdial.evaluate.figures import CURVES, MEASURES
    from soliloquy.recipes.mathdial.evaluate.judging import OWN
    from soliloquy.recipes.mathdial.evaluate.page import shares
    from training.evaluation.report import is_measured

    made = report["figures"]
    groups = {"all": made["metrics"]}
    groups |= {f"{steps} steps": of["metrics"] for steps, of in made["by_steps"].items()}
    by_k = Table("k", *groups, title=f"{report['name']}: {', '.join(CURVES)}")
    for k, metrics in enumerate(zip(*CURVES.values(), strict=True), start=1):
        by_k.add_row(str(k), *(", ".join(shares(of, metrics)) for of in groups.values()))
    yield by_k
    yield figures_table(report, [OWN, *(name for name in MEASURES if is_measured(report, name))])


def _check_options(
    context: click.Context,
    tutored_by: str,
    *,
    bertscore: Path | None,
    references: Path | None,
    student: str,
    weights: Path | None,
) -> None:
    idle: tuple[str, ...] = ()
    if tutored_by != MODEL:
        idle = _MODEL_OPTIONS if tutored_by == NEXT_STEP else (*_MODEL_OPTIONS, *_STUDENT_OPTIONS)
    for option in idle:
        if context.get_parameter_source(option) is ParameterSource.COMMANDLINE:
            raise click.UsageError(f"--{option.replace('_', '-')} cannot be used with --tutor {tutored_by}")
    if idle and tutored_by != NEXT_STEP and not Path(tutored_by).is_dir():
        raise click.UsageError(
            f"--tutor {tutored_by}: neither {MODEL}, {NEXT_STEP} nor the folder of a dataset; `soliloquy import` makes "
            "a dataset of dialogues in another format"
        )
    if bertscore and not references:
        raise click.UsageError("--bertscore requires --references")
    if student == MODEL and weights:
        raise click.UsageError("--student model cannot be used with --weights, which play the tutor only")
