"""Options of the commands that run services; the environment may give each of them, as in a container."""

import os
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, TypeVar

import click

from services.collector.settings import LiveSettings
from services.executor.settings import SandboxSettings
from soliloquy.cli.durations import DURATION
from soliloquy.cli.sizes import SIZE
from soliloquy.dataset.layout import ShardLimits
from soliloquy.problems.bank.bank import bank_names
from soliloquy.recipes.judges import BadClassifiers
from soliloquy.recipes.recipe import load_judges
from soliloquy.runs.failure import Failure

Command = TypeVar("Command", bound=Callable[..., Any])

_SANDBOX = SandboxSettings()
_LIVE = LiveSettings()


def option(flag: str, *name: str, **how: Any) -> Callable[[Command], Command]:
    """`--max-in-flight`, or SOLILOQUY_MAX_IN_FLIGHT in the environment."""
    variable = f"SOLILOQUY_{flag.strip('-').upper().replace('-', '_')}"
    return click.option(flag, *name, envvar=variable, show_envvar=True, **how)


def with_options(options: Sequence[Callable[[Command], Command]]) -> Callable[[Command], Command]:
    def decorate(command: Command) -> Command:
        for each in reversed(options):
            command = each(command)
        return command

    return decorate


def _classifiers(_: click.Context, __: click.Parameter, given: Path | None) -> Path | None:
    try:
        load_judges(given)
    except BadClassifiers as unusable:
        raise Failure(str(unusable)) from unusable
    return given


GRACE = option("--grace", default="20s", show_default=True, type=DURATION, help="For what runs at the end.")
COLLECTOR = (
    option(
        "--data",
        required=True,
        metavar="DIR",
        type=click.Path(path_type=Path, file_okay=False),
        help="Where the collector keeps what is finished.",
    ),
    option("--store", default="", metavar="URL", help="An object store for the datasets, as s3://bucket/folder."),
    option(
        "--shard-rows",
        default=_LIVE.limits.rows,
        show_default=True,
        type=click.IntRange(min=1),
        help="Conversations in a shard.",
    ),
    option(
        "--shard-seconds",
        default=_LIVE.shard_seconds,
        show_default=f"{_LIVE.shard_seconds:g}s",
        type=DURATION,
        help="The most that a conversation waits for its shard.",
    ),
)
SCRIPTED = (
    option(
        "--problems",
        multiple=True,
        default=bank_names(),
        show_default=True,
        metavar="BANK|FILE",
        help="What the scripted model knows; may be given several times.",
    ),
    option("--latency", default="0ms", show_default=True, type=DURATION, help="Of each answer."),
    option(
        "--noise",
        default="none",
        show_default=True,
        type=click.Choice(["none", "real"]),
        help="Imitate real output.",
    ),
)
CLASSIFIERS = option(
    "--classifiers",
    metavar="FILE",
    type=click.Path(path_type=Path, exists=True, dir_okay=False, resolve_path=True),
    callback=_classifiers,
    help="Of `problems learn-criteria`: they have to agree with the other judges of word problems.",
)
SANDBOX = (
    option(
        "--sandboxes",
        default=os.cpu_count(),
        show_default=True,
        type=click.IntRange(min=1),
        help="Of each lane that most jobs take.",
    ),
    option(
        "--wall",
        default=_SANDBOX.wall_seconds,
        show_default=f"{_SANDBOX.wall_seconds:g}s",
        type=DURATION,
        help="The most that a job may take.",
    ),
    option(
        "--memory",
        default=_SANDBOX.memory_bytes,
        show_default=f"{_SANDBOX.memory_bytes // 1024**2}MiB",
        type=SIZE,
        help="The most that a job may have.",
    ),
    option("--audit", is_flag=True, help="A sandbox of its own for each job."),
)


def sandbox_settings(*, sandboxes: int, wall: float, memory: int, audit: bool, **more: Any) -> SandboxSettings:
    return SandboxSettings(sandboxes=sandboxes, wall_seconds=wall, memory_bytes=memory, audit=audit, **more)


def live_settings(*, data: Path, store: str, shard_rows: int, shard_seconds: float) -> LiveSettings:
    return LiveSettings(data=data, store=store, shard_seconds=shard_seconds, limits=ShardLimits(rows=shard_rows))
