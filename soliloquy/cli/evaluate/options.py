"""Options that all evaluations share: the tutor, the questions, and the report."""

import functools
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import click

from soliloquy.cli.evaluate.output import Evaluated, deliver
from soliloquy.cli.evaluate.settings import EvaluationSettings
from soliloquy.cli.evaluate.tutor import TUTOR_OPTIONS, chosen_tutor
from soliloquy.cli.model_options import model_options
from soliloquy.cli.options import (
    AS_JSON,
    COUNT,
    EXISTING_FOLDER,
    IN_FLIGHT,
    NEW_FOLDER,
    QUIET,
    SEED,
    WAIT,
    count_option,
)
from soliloquy.cli.prompts_option import PROMPTS
from soliloquy.cli.service_options import NOISE, with_options
from soliloquy.runtime.files import refuse_foreign

_QUESTIONS = (
    SEED,
    click.option(
        "--trained",
        "datasets",
        multiple=True,
        metavar="DIR",
        type=EXISTING_FOLDER,
        help="Leave out the questions of this dataset, on which the model was trained; may be repeated.",
    ),
    count_option("--in-flight", 16, "Cases to run at once.", most=IN_FLIGHT),
)
_TUTOR = (
    click.option(
        "--weights",
        metavar="DIR",
        type=click.Path(path_type=Path, exists=True, file_okay=False, resolve_path=True),
        help="Evaluate these weights in this process instead of a --model.",
    ),
    click.option(
        "--adapter",
        metavar="NAME|DIR",
        help="The tutor's adapter: its name at the endpoint, or a folder with --weights.",
    ),
    click.option("--free", is_flag=True, help="Do not constrain the answers of --weights to their schema."),
    click.option("--max-tokens", type=COUNT, help="Maximum tokens of an answer, if lower than in the settings."),
    PROMPTS,
    NOISE,
    WAIT,
)
_REPORT = (
    click.option("--name", metavar="NAME", help="The name in the report.  [default: names of model and adapter]"),
    click.option("--out", required=True, type=NEW_FOLDER, help="The folder for the report."),
    AS_JSON,
    QUIET,
)


def evaluating(
    problems: str, check: Callable[[click.Context], None] = lambda _: None
) -> Callable[[Callable[..., Evaluated]], Callable[..., None]]:
    """Hands the command its settings in place of the options that all evaluations share, and delivers what it returns.

    `check` refuses combinations of options before anything is opened.
    """
    source = click.option(
        "--problems", default=problems, show_default=True, metavar="BANK|FILE", help="The source of the problems."
    )

    def decorate(evaluate: Callable[..., Evaluated]) -> Callable[..., None]:
        @functools.wraps(evaluate)
        def command(
            *,
            seed: int,
            datasets: Sequence[Path],
            in_flight: int,
            name: str | None,
            out: Path,
            as_json: bool,
            quiet: bool,
            prompts: Path | None,
            **options: Any,
        ) -> None:
            context = click.get_current_context()
            from soliloquy_training.evaluation.report import REPORT

            check(context)
            refuse_foreign(out, REPORT)
            tutor = chosen_tutor(context, **{option: options.pop(option) for option in TUTOR_OPTIONS})
            settings = EvaluationSettings(
                tutor=tutor,
                seed=seed,
                in_flight=in_flight,
                trained=datasets,
                name=name,
                prompts=prompts,
                quiet=quiet or as_json,
            )
            deliver(out, evaluate(settings, **options), as_json=as_json, quiet=quiet)

        return with_options((source, *_QUESTIONS, *_REPORT, *_TUTOR))(model_options(command))

    return decorate
