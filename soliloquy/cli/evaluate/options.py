"""Options that all evaluations share: the tutor, the questions, and the report."""

import functools
from collections.abc import Callable
from pathlib import Path
from typing import Any

import click

from soliloquy.cli.command import gathered, setting
from soliloquy.cli.evaluate.output import Evaluated, deliver
from soliloquy.cli.evaluate.settings import EvaluationSettings
from soliloquy.cli.evaluate.tutor import TUTOR, Tutor
from soliloquy.cli.options import AS_JSON, EXISTING_FOLDER, IN_FLIGHT, NEW_FOLDER, QUIET, SEED, whole
from soliloquy.cli.service_options import PROMPTS
from soliloquy.runtime.files import refuse_foreign

_TRAINED = setting(
    "Leave out the questions of this dataset, on which the model was trained; may be repeated.",
    "--trained",
    type=EXISTING_FOLDER,
)


def _settings(
    *,
    tutor: Tutor = TUTOR,
    seed: int = SEED,
    trained: tuple[Path, ...] = _TRAINED,
    in_flight: int = setting("Cases to run at once.", default=16, type=whole(1, IN_FLIGHT)),
    name: str | None = setting("The name in the report.  [default: names of model and adapter]", metavar="NAME"),
    prompts: Path | None = PROMPTS,
    quiet: bool,
    as_json: bool,
) -> EvaluationSettings:
    return EvaluationSettings(
        tutor=tutor,
        seed=seed,
        in_flight=in_flight,
        trained=trained,
        name=name,
        prompts=prompts,
        quiet=quiet or as_json,
    )


def evaluating(
    problems: str, check: Callable[[click.Context], None] = lambda _: None
) -> Callable[[Callable[..., Evaluated]], Callable[..., None]]:
    """Hands the command its settings and its own options, and delivers what it returns.

    `check` refuses combinations of options before anything is opened.
    """

    def checked(out: Path = setting("The folder for the report.", type=NEW_FOLDER)) -> Path:
        from soliloquy_training.evaluation.report import REPORT

        check(click.get_current_context())
        refuse_foreign(out, REPORT)
        return out

    def decorate(evaluate: Callable[..., Evaluated]) -> Callable[..., None]:
        @functools.wraps(evaluate)
        def own(**options: Any) -> dict[str, Any]:
            return options

        def delivered(
            *,
            out: Path = gathered(checked),
            problems: str = setting("The source of the problems.", default=problems, metavar="BANK|FILE"),
            settings: EvaluationSettings = gathered(_settings),
            as_json: bool = AS_JSON,
            quiet: bool = QUIET,
            options: dict[str, Any] = gathered(own),
        ) -> None:
            deliver(out, evaluate(settings, **options), as_json=as_json, quiet=quiet)

        delivered.__name__, delivered.__doc__ = evaluate.__name__, evaluate.__doc__
        return delivered

    return decorate
