"""Run files: the options of a run in TOML, or as the manifest of a dataset keeps them."""

import json
from pathlib import Path
from typing import Any

import click
from click.core import ParameterSource

from soliloquy.cli.options import EXISTING_FILE
from soliloquy.runtime.failure import did_you_mean
from soliloquy.runtime.model.settings_file import MODELS, read_table

_SETTINGS = "model_settings"
_GIVEN = (ParameterSource.COMMANDLINE, ParameterSource.DEFAULT_MAP)
# The conversations of a run depend on these; the rest is of one machine, or of one execution.
_KEPT = (
    *("recipe", "problems", "conversations", "seed", "noise", "max_turns", "max_attempts", "enrich", "verified"),
    *("prompts", "language", "classifiers", "model", "base_url", "model_address", "model_name"),
)


def is_given(context: click.Context, option: str) -> bool:
    """Whether somebody chose the value of an option, on the command line or in a run file."""
    return context.get_parameter_source(option) in _GIVEN


def kept_options(context: click.Context) -> dict[str, Any]:
    """Returns the options that a manifest keeps: as a run file, they generate the same conversations again.

    Usual values are left out: some, such as `noise`, are refused beside a hosted model where somebody gives them.
    """
    usual = {one.name: one.default for one in context.command.params}
    chosen = {name: value for name in _KEPT if (value := context.params[name]) not in (None, False)}
    kept: dict[str, Any] = {name: value for name, value in chosen.items() if value != usual[name]}
    if settings := context.params[_SETTINGS]:
        table = read_table(settings)
        kept[MODELS] = table.get(MODELS, table)
    # Without the paths and dates of Python.
    plain: dict[str, Any] = json.loads(json.dumps(kept, default=str))
    return plain


def _apply(context: click.Context, _: click.Parameter, file: Path | None) -> None:
    if file is None or context.resilient_parsing:
        return
    known = {name for one in context.command.params if isinstance(one, click.Option) and (name := one.name)}
    options: dict[str, Any] = {}
    for name, value in read_table(file).items():
        if name == MODELS and _SETTINGS in known:
            options[_SETTINGS] = str(file)
        elif name not in known:
            near = did_you_mean(name, known)
            raise click.UsageError(f"{file}: {context.command_path} has no option {name!r}{near}", context)
        elif not isinstance(value, str | int | float):
            raise click.UsageError(f"{file}: {name} takes one value", context)
        else:
            options[name] = value
    context.default_map = options


RUN_FILE = click.argument(
    "file", metavar="[RUN_FILE]", required=False, is_eager=True, expose_value=False, type=EXISTING_FILE, callback=_apply
)
