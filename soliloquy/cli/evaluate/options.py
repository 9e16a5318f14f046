"""Options that all evaluations share: the tutor, the questions, and the report."""

import functools
from collections.abc import Callable
from pathlib import Path
from typing import Any

import click

from soliloquy.cli.command import setting
from soliloquy.cli.evaluate.output import Evaluated, deliver
from soliloquy.cli.evaluate.settings import EvaluationSettings
from soliloquy.cli.evaluate.tutor import Tutor, chosen_tutor
from soliloquy.cli.model_options import model_options
from soliloquy.cli.options import AS_JSON, EXISTING_FOLDER, IN_FLIGHT, NEW_FOLDER, QUIET, SEED
from soliloquy.cli.parameters import whole
from soliloquy.cli.service_options import PROMPTS, gathered, with_options
from soliloquy.runtime.files import refuse_foreign

_TRAINED = setting(
    "Leave out the questions of this dataset, on which the model was trained; may be repeated.",
    "--trained",
    type=EXISTING_FOLDER,
)
_NAME = setting("The name in the report.  [default: names of model and adapter]", metavar="NAME")
_OUT = setting("The folder for the report.", "--out", required=True, type=NEW_FOLDER)


def _settings(
    chosen: Tutor,
    seed: int = SEED,
    datasets: tuple[Path, ...] = _TRAINED,
    in_flight: int = setting("Cases to run at once.", default=16, type=whole(1, IN_FLIGHT)),
    name: str | None = _NAME,
    prompts: Path | None = PROMPTS,
) -> EvaluationSettings:
    values = click.get_current_context().params
    return EvaluationSettings(
        tutor=chosen,
        seed=seed,
        in_flight=in_flight,
        trained=datasets,
        name=name,
        prompts=prompts,
        quiet=values["quiet"] or values["as_json"],
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
        def delivered(*, settings: EvaluationSettings, out: Path, as_json: bool, quiet: bool, **options: Any) -> None:
            deliver(out, evaluate(settings, **options), as_json=as_json, quiet=quiet)

        shared = with_options((source, _OUT, AS_JSON, QUIET))(delivered)
        evaluated = gathered("chosen", chosen_tutor)(gathered("settings", _settings)(shared))

        @functools.wraps(evaluated)
        def checked(*, out: Path, **options: Any) -> None:
            from soliloquy_training.evaluation.report import REPORT

            check(click.get_current_context())
            refuse_foreign(out, REPORT)
            evaluated(out=out, **options)

        decorated: Callable[..., None] = model_options(checked)
        return decorated

    return decorate
