"""Options of the commands that run services. Each can also come from the environment, as in a container."""

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any, TypeVar

import click

from soliloquy.cli.command import gathered, option, setting
from soliloquy.cli.options import COUNT, EXISTING_FOLDER, NEW_FOLDER, WORKERS
from soliloquy.cli.parameters import DURATION, SIZE, Choice, whole
from soliloquy.dataset.layout import ShardLimits
from soliloquy.recipes.prompts import BrokenPrompt, changed_texts
from soliloquy.recipes.recipe import checked_prompts, load_judges
from soliloquy.runtime.files import refuse_foreign
from soliloquy.standin.faults import LEVELS

T = TypeVar("T")


def from_environment(variable: str, kind: click.ParamType[T]) -> T | None:
    """Returns a setting that only the environment holds, or None; raises UsageError."""
    given = os.environ.get(variable)
    try:
        return kind.convert(given, None, None) if given else None
    except click.BadParameter as bad:
        raise click.UsageError(f"{variable}: {bad.message}") from bad


def _checked(_: click.Context, __: click.Parameter, classifiers: Path | None) -> Path | None:
    load_judges(classifiers)
    return classifiers


GRACE = option("Time for unfinished work when it is stopped.", "--grace", default="20s", type=DURATION)
LATENCY = option("Latency of the scripted model's answers.", "--latency", default="0ms", type=DURATION)
NOISE = option(
    "Imitate real models: the length of their messages alone, or also their faults, at the rates that were counted or "
    "at twice those.",
    "--noise",
    default="none",
    type=Choice(list(LEVELS)),
)
CLASSIFIERS = option(
    "From `problems calibrate`: judges of word problems that weigh what the rules find.",
    "--classifiers",
    type=click.Path(path_type=Path, exists=True, dir_okay=False, resolve_path=True),
    callback=_checked,
)
PROMPTS = setting(
    "Changed prompts of the recipe, as `soliloquy recipes prompts` writes them.", "--prompts", type=EXISTING_FOLDER
)


def chosen_prompts(recipe: str, place: Path | None) -> Mapping[str, str]:
    """Returns the files of the folder that differ from the recipe's own; raises BrokenPrompt."""
    if place is None:
        return {}
    changed = changed_texts(recipe, place)
    try:
        checked_prompts(recipe, changed)
    except BrokenPrompt as error:
        raise BrokenPrompt(f"{place}/{error}") from None
    return changed


def collector_options() -> Any:
    """Returns the options of the collector, which make its settings."""
    from soliloquy_services.collector.settings import LiveSettings

    usual = LiveSettings()
    rows_text = "Conversations in a shard, the unit that readers open."
    seconds_text = "The longest that a conversation waits for its shard, and its readers for it."
    seconds = f"{usual.shard_seconds:g}s"

    def settings(
        data: Path = option("Where the collector keeps finished conversations.", type=NEW_FOLDER),
        store: str = option("An object store for datasets: s3://bucket/folder.", default="", metavar="URL"),
        shard_rows: int = option(rows_text, default=usual.limits.rows, type=COUNT),
        shard_seconds: float = option(seconds_text, default=seconds, type=DURATION),
    ) -> LiveSettings:
        # The collector's lock tells its folder from others.
        refuse_foreign(data, "lock", option="--data")
        limits = ShardLimits(rows=shard_rows)
        return LiveSettings(data=data, store=store, shard_seconds=shard_seconds, limits=limits)

    return gathered(settings)


def sandbox_options() -> Any:
    """Returns the options of the executor, which make its settings."""
    from soliloquy_services.executor.policy import SandboxSettings

    usual = SandboxSettings()
    jobs_text = "Warm sandboxes of each lane: the jobs that run at once."
    wall, memory_size = f"{usual.wall_seconds:g}s", f"{usual.memory_bytes // 1024**2}MiB"

    def settings(
        sandboxes: int = option(jobs_text, default=os.cpu_count(), type=whole(1, WORKERS)),
        wall: float = option("The longest that a program may run.", default=wall, type=DURATION),
        memory: int = option("The address space that a program may use.", default=memory_size, type=SIZE),
        audit: bool = option("Run each job in a sandbox of its own, for models that nobody trusts."),
    ) -> SandboxSettings:
        return SandboxSettings(sandboxes=sandboxes, wall_seconds=wall, memory_bytes=memory, audit=audit)

    return gathered(settings)
