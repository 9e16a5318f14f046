"""The options that choose the models, the same for every command that asks one."""

import functools
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import click
from click.core import ParameterSource

from soliloquy.cli.addresses import ADDRESS
from soliloquy.cli.service_options import SCRIPTED, option, with_options
from soliloquy.runs.failure import Failure
from soliloquy.runs.model import ModelSettings
from soliloquy.runtime.model.settings import (
    BadModelSettings,
    Models,
    checked_endpoint,
    read_models,
    shipped_models,
)

Command = TypeVar("Command", bound=Callable[..., Any])

_OPTIONS = (
    option(
        "--model",
        type=click.Choice(["scripted", "openai", "ray"]),
        help="For all roles: the rule-based stand-in, an OpenAI-compatible API, or the model service.  "
        "[default: scripted]",
    ),
    option(
        "--base-url",
        metavar="URL",
        help="The API, as https://api.example.com/v1. Its key is in OPENAI_API_KEY.",
    ),
    option("--model-address", metavar="HOST:PORT", type=ADDRESS, help="The address of the model service."),
    option("--model-name", metavar="NAME", help="The name of the model at the endpoint; required if it has several."),
    option(
        "--model-settings",
        metavar="FILE",
        type=click.Path(path_type=Path, exists=True, dir_okay=False),
        help="Endpoints, adapters and sampling of each role, as TOML.",
    ),
    option(
        "--model-cache",
        metavar="DIR",
        type=click.Path(path_type=Path, file_okay=False),
        help="Keep completions there, and reuse those that are there.",
    ),
)
# The option that each choice of --model requires, and the entry of the endpoint that each option sets.
_PLACE = {"openai": "base_url", "ray": "model_address"}
_ENTRIES = {"base_url": "base_url", "model_address": "address", "model_name": "model"}


def model_options(command: Command) -> Callable[..., Any]:
    """Hands the command `models` and `model_cache`."""

    @functools.wraps(command)
    def with_models(
        *arguments: Any,
        model: str | None,
        base_url: str | None,
        model_address: str | None,
        model_name: str | None,
        model_settings: Path | None,
        **options: Any,
    ) -> Any:
        given = {"base_url": base_url, "model_address": model_address, "model_name": model_name}
        models = _models(model, {name: value for name, value in given.items() if value}, model_settings)
        _refuse_useless_options(models, options["model_cache"])
        return command(*arguments, models=models, **options)

    return with_options(_OPTIONS)(with_models)


def model_settings_options(command: Command) -> Callable[..., Any]:
    """Hands the command `model`, the settings of the model that services ask."""

    @functools.wraps(command)
    def with_settings(
        *arguments: Any,
        models: Models,
        model_cache: Path | None,
        problems: tuple[str, ...],
        latency: float,
        noise: str,
        **options: Any,
    ) -> Any:
        model = ModelSettings(problems=problems, latency=latency, noise=noise, models=models, cache=model_cache)
        return command(*arguments, model=model, **options)

    return model_options(with_options(SCRIPTED)(with_settings))


def _models(model: str | None, given: dict[str, str], file: Path | None) -> Models:
    place = _PLACE.get(model or "")
    for name in given:
        if name != place and not (place and name == "model_name"):
            wanted = [choice for choice, needed in _PLACE.items() if name in (needed, "model_name")]
            raise click.UsageError(f"{_flag(name)} requires --model {' or '.join(wanted)}")
    if place and place not in given:
        raise click.UsageError(f"--model {model} requires {_flag(place)}")
    try:
        models = read_models(file) if file else shipped_models()
        if model is None:
            return models
        if models.endpoints != shipped_models().endpoints:
            raise click.UsageError(f"--model cannot be used with the endpoints in {file}: remove one of them")
        entries = {_ENTRIES[name]: value for name, value in given.items()}
        return models.only_at(checked_endpoint({"engine": model, **entries}, f"--model {model}"))
    except BadModelSettings as error:
        raise Failure(str(error)) from error


def _refuse_useless_options(models: Models, cache: Path | None) -> None:
    """Refuses options of the scripted model if no role asks it, and a cache if no other model is asked."""
    context = click.get_current_context()
    engines = {endpoint.engine for endpoint in models.used.values()}
    for name in ("latency", "noise"):
        if "scripted" not in engines and context.get_parameter_source(name) is ParameterSource.COMMANDLINE:
            raise click.UsageError(f"--{name} requires a role that the scripted model plays")
    if engines == {"scripted"} and cache:
        raise click.UsageError("--model-cache requires a hosted model: the scripted model is faster than the cache")


def _flag(name: str) -> str:
    return f"--{name.replace('_', '-')}"
