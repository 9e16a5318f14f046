"""`soliloquy evaluate mathtutorbench` and `soliloquy evaluate mrbench`."""

from collections.abc import Callable
from pathlib import Path

import click

from soliloquy.cli.attended import ASKED, AttendedModels
from soliloquy.cli.command import Command, gathered, setting
from soliloquy.cli.evaluate.output import Evaluated, deliver
from soliloquy.cli.model_options import HOSTED_MODEL
from soliloquy.cli.options import (
    AS_JSON,
    COUNT,
    EXISTING_FILE,
    EXISTING_FOLDER,
    IN_FLIGHT,
    NEW_FOLDER,
    QUIET,
    Choice,
    whole,
)
from soliloquy.runtime.files import refuse_foreign
from soliloquy_papers.tutor_benchmarks import TASKS
from soliloquy_papers.tutor_benchmarks.asking import BenchmarkSettings


def _settings(
    *,
    asked: AttendedModels = ASKED,
    model: str | None = HOSTED_MODEL,
    out: Path = setting("The folder for the report.", type=NEW_FOLDER),
    cases: int | None = setting("Cases at most, of each task; the first ones.", type=COUNT),
    in_flight: int = setting("Cases to run at once.", default=16, type=whole(1, IN_FLIGHT)),
    name: str | None = setting("The name in the report.  [default: name of the model]", metavar="NAME"),
    as_json: bool = AS_JSON,
    quiet: bool = QUIET,
) -> BenchmarkSettings:
    from soliloquy_training.evaluation.report import REPORT

    refuse_foreign(out, REPORT)
    return BenchmarkSettings(
        asked=asked, out=out, cases=cases, in_flight=in_flight, name=name, as_json=as_json, quiet=quiet or as_json
    )


_SETTINGS = gathered(_settings)
_REWARD_MODEL = "Weights of the benchmark's reward model, which rates replies against those of teachers."


@click.command(cls=Command)
@click.argument("folder", metavar="DIR", type=EXISTING_FOLDER)
def mathtutorbench(
    *,
    settings: BenchmarkSettings = _SETTINGS,
    folder: Path,
    tasks: tuple[str, ...] = setting("A task; may be repeated.  [default: all]", "--task", type=Choice([*TASKS])),
    reward_model: Path | None = setting(_REWARD_MODEL, type=EXISTING_FOLDER),
) -> None:
    """Evaluate a model with the tasks of MathTutorBench.

    DIR is a copy of its repository, whose prompts and data are used as they are. The first two tasks also need GSM8K
    as the hub has it, in DIR/gsm8k. A task whose data are missing is reported as not measured, and so are replies
    without a --reward-model.
    """
    from soliloquy_papers.tutor_benchmarks.mathtutorbench import evaluate

    settings.require_model()
    _deliver(settings, lambda: evaluate(settings, folder, tasks or [*TASKS], reward_model))


_RECORDED = "Take this tutor's recorded responses instead of asking a model."


@click.command(cls=Command)
@click.argument("file", metavar="FILE", type=EXISTING_FILE)
def mrbench(
    *,
    settings: BenchmarkSettings = _SETTINGS,
    file: Path,
    recorded: str | None = setting(_RECORDED, metavar="NAME"),
    judge: Path | None = setting(
        "Model settings; their planner judges.  [default: the people of the file]", type=EXISTING_FILE, metavar="FILE"
    ),
) -> None:
    """Evaluate a tutor's responses in the eight dimensions of MRBench.

    FILE is its JSON. A model responds to the conversations, and a --judge labels the responses. Of a --recorded tutor
    the labels of people count unless there is a judge, whose agreement with the people is reported then.
    """
    from soliloquy_papers.tutor_benchmarks.mrbench import evaluate

    if not recorded:
        settings.require_model()
        if judge is None:
            raise click.UsageError("--judge is required: nobody has labelled the responses of a model")
    _deliver(settings, lambda: evaluate(settings, file, recorded, judge))


def _deliver(settings: BenchmarkSettings, evaluate: Callable[[], Evaluated]) -> None:
    deliver(settings.out, evaluate(), as_json=settings.as_json, quiet=settings.quiet)
