"""Options that all evaluations share: the tutor, the questions, and the report."""

import functools
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import click

from soliloquy.cli.command import setting
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
    RESOLVED_FOLDER,
    SEED,
    WAIT,
)
from soliloquy.cli.parameters import whole
from soliloquy.cli.service_options import NOISE, PROMPTS, with_options
from soliloquy.runtime.foreign import refuse_foreign

_OPTIONS = (
    SEED,
    setting(
        "Leave out the questions of this dataset, on which the model was trained; may be repeated.",
        "--trained",
        "datasets",
        multiple=True,
        type=EXISTING_FOLDER,
    ),
    setting("Cases to run at once.", "--in-flight", default=16, type=whole(1, IN_FLIGHT)),
    setting("The name in the report.  [default: names of model and adapter]", "--name", metavar="NAME"),
    setting("The folder for the report.", "--out", required=True, type=NEW_FOLDER),
    AS_JSON,
    QUIET,
    setting("Evaluate these weights in this process instead of a --model.", "--weights", type=RESOLVED_FOLDER),
    setting(
        "The tutor's adapter: its name at the endpoint, or a folder with --weights.", "--adapter", metavar="NAME|DIR"
    ),
    setting("Do not constrain the answers of --weights to their schema.", "--free", is_flag=True),
    setting("Maximum tokens of an answer, if lower than in the settings.", "--max-tokens", type=COUNT),
    PROMPTS,
    NOISE,
    WAIT,
)


def evaluating(
    problems: str, check: Callable[[click.Context], None] = lambda _: None
) -> Callable[[Callable[..., Evaluated]], Callable[..., None]]:
    """Hands the command its settings in place of the options that all evaluations share, and delivers what it returns.

    `check` refuses combinations of options before anything is opened.
    """
    source = setting("The source of the problems.", "--problems", default=problems, metavar="BANK|FILE")

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

        decorated: Callable[..., None] = with_options((source, *_OPTIONS))(model_options(command))
        return decorated

    return decorate
