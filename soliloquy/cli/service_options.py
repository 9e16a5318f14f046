"""Options of the commands that run services. Each can also come from the environment, as in a container."""

import functools
import os
from collections.abc import Callable, Sequence
from inspect import signature
from pathlib import Path
from typing import Any, TypeVar

import click

from soliloquy.cli.options import COUNT, NEW_FOLDER, WORKERS
from soliloquy.cli.parameters import DURATION, SIZE, Choice, whole
from soliloquy.dataset.layout import ShardLimits
from soliloquy.recipes.recipe import load_judges
from soliloquy.runtime.files import refuse_foreign
from soliloquy.standin.faults import LEVELS

Command = TypeVar("Command", bound=Callable[..., Any])
T = TypeVar("T")


def option(flag: str, *name: str, **how: Any) -> Callable[[Command], Command]:
    """`--max-in-flight`, or SOLILOQUY_MAX_IN_FLIGHT in the environment."""
    variable = f"SOLILOQUY_{flag.strip('-').upper().replace('-', '_')}"
    return click.option(flag, *name, envvar=variable, show_envvar=True, **how)


def from_environment(variable: str, kind: click.ParamType[T]) -> T | None:
    """Returns a setting that only the environment holds, or None; raises UsageError."""
    given = os.environ.get(variable)
    try:
        return kind.convert(given, None, None) if given else None
    except click.BadParameter as bad:
        raise click.UsageError(f"{variable}: {bad.message}") from bad


def with_options(options: Sequence[Callable[[Command], Command]]) -> Callable[[Command], Command]:
    def decorate(command: Command) -> Command:
        for each in reversed(options):
            command = each(command)
        return command

    return decorate


def gathered(
    name: str, build: Callable[..., Any], options: Sequence[Callable[[Any], Any]]
) -> Callable[[Command], Callable[..., Any]]:
    """Hands the command `name`, which `build` makes of the values of `options`; its parameters name them."""
    parts = signature(build).parameters

    def decorate(command: Command) -> Callable[..., Any]:
        @functools.wraps(command)
        def with_whole(*arguments: Any, **values: Any) -> Any:
            values[name] = build(**{part: values.pop(part) for part in parts})
            return command(*arguments, **values)

        for each in reversed(options):
            each(with_whole)
        return with_whole

    return decorate


def _checked(_: click.Context, __: click.Parameter, classifiers: Path | None) -> Path | None:
    load_judges(classifiers)
    return classifiers


GRACE = option(
    "--grace", default="20s", show_default=True, type=DURATION, help="Time for unfinished work when it is stopped."
)
LATENCY = option(
    "--latency", default="0ms", show_default=True, type=DURATION, help="Latency of the scripted model's answers."
)
NOISE = option(
    "--noise",
    default="none",
    show_default=True,
    type=Choice(list(LEVELS)),
    help="Imitate real models: the length of their messages alone, or also their faults, at the rates that were "
    "counted or at twice those.",
)
SCRIPTED = (LATENCY, NOISE)
CLASSIFIERS = option(
    "--classifiers",
    metavar="FILE",
    type=click.Path(path_type=Path, exists=True, dir_okay=False, resolve_path=True),
    callback=_checked,
    help="From `problems calibrate`: judges of word problems that weigh what the rules find.",
)


def collector_options(command: Command) -> Callable[..., Any]:
    """Hands the command `datasets`, the settings of the collector."""
    from soliloquy_services.collector.settings import LiveSettings

    defaults = LiveSettings()

    def settings(data: Path, store: str, shard_rows: int, shard_seconds: float) -> LiveSettings:
        # The collector's lock tells its folder from others.
        refuse_foreign(data, "lock", option="--data")
        limits = ShardLimits(rows=shard_rows)
        return LiveSettings(data=data, store=store, shard_seconds=shard_seconds, limits=limits)

    options = (
        option(
            "--data",
            required=True,
            metavar="DIR",
            type=NEW_FOLDER,
            help="Where the collector keeps finished conversations.",
        ),
        option("--store", default="", metavar="URL", help="An object store for datasets: s3://bucket/folder."),
        option(
            "--shard-rows",
            default=defaults.limits.rows,
            show_default=True,
            type=COUNT,
            help="Conversations in a shard, the unit that readers open.",
        ),
        option(
            "--shard-seconds",
            default=defaults.shard_seconds,
            show_default=f"{defaults.shard_seconds:g}s",
            type=DURATION,
            help="The longest that a conversation waits for its shard, and its readers for it.",
        ),
    )
    return gathered("datasets", settings, options)(command)


def sandbox_options(command: Command) -> Callable[..., Any]:
    """Hands the command `sandbox`, the settings of the executor."""
    from soliloquy_services.executor.policy import SandboxSettings

    defaults = SandboxSettings()

    def settings(sandboxes: int, wall: float, memory: int, audit: bool) -> SandboxSettings:
        return SandboxSettings(sandboxes=sandboxes, wall_seconds=wall, memory_bytes=memory, audit=audit)

    options = (
        option(
            "--sandboxes",
            default=os.cpu_count(),
            show_default=True,
            type=whole(1, WORKERS),
            help="Warm sandboxes of each lane: the jobs that run at once.",
        ),
        option(
            "--wall",
            default=defaults.wall_seconds,
            show_default=f"{defaults.wall_seconds:g}s",
            type=DURATION,
            help="The longest that a program may run.",
        ),
        option(
            "--memory",
            default=defaults.memory_bytes,
            show_default=f"{defaults.memory_bytes // 1024**2}MiB",
            type=SIZE,
            help="The address space that a program may use.",
        ),
        option("--audit", is_flag=True, help="Run each job in a sandbox of its own, for models that nobody trusts."),
    )
    return gathered("sandbox", settings, options)(command)
