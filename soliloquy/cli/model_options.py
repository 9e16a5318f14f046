"""The options that say which models answer, the same for every command that asks any."""

import functools
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import click
from click.core import ParameterSource

from soliloquy.cli.addresses import ADDRESS
from soliloquy.cli.service_options import option
from soliloquy.runs.failure import Failure
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
        help="For all roles: the rule-based stand-in, an OpenAI-compatible API, or our own model service.  "
        "[default: scripted]",
    ),
    option("--base-url", metavar="URL", help="Of the API: https://api.example.com/v1. Its key is in OPENAI_API_KEY."),
    option("--model-address", metavar="HOST:PORT", type=ADDRESS, help="Of the model service."),
    option("--model-name", metavar="NAME", help="As the endpoint calls it; needed where it has several."),
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
        help="Keep answers there, and do not ask again for what is there.",
    ),
)
# What each choice of a model cannot do without, and what says something only with it.
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
        _refuse_what_says_nothing(models, options["model_cache"])
        return command(*arguments, models=models, **options)

    for each in reversed(_OPTIONS):
        each(with_models)
    return with_models


def _models(model: str | None, given: dict[str, str], file: Path | None) -> Models:
    place = _PLACE.get(model or "")
    for name in given:
        if name != place and not (place and name == "model_name"):
            wanted = [choice for choice, needed in _PLACE.items() if name in (needed, "model_name")]
            raise click.UsageError(f"{_flag(name)} says nothing without --model {' or '.join(wanted)}")
    if place and place not in given:
        raise click.UsageError(f"--model {model} needs {_flag(place)}")
    try:
        models = read_models(file) if file else shipped_models()
        if model is None:
            return models
        if models.endpoints != shipped_models().endpoints:
            raise click.UsageError(f"{file} names the endpoints: leave out --model, or the endpoints in it")
        entries = {_ENTRIES[name]: value for name, value in given.items()}
        return models.only_at(checked_endpoint({"engine": model, **entries}, f"--model {model}"))
    except BadModelSettings as error:
        raise Failure(str(error)) from error


def _refuse_what_says_nothing(models: Models, cache: Path | None) -> None:
    """Of the scripted model where none is asked, and of answers to keep where they cost nothing."""
    context = click.get_current_context()
    engines = {endpoint.engine for endpoint in models.used.values()}
    for name in ("latency", "noise"):
        if "scripted" not in engines and context.get_parameter_source(name) is ParameterSource.COMMANDLINE:
            raise click.UsageError(f"--{name} says nothing here: no role is played by the scripted model")
    if engines == {"scripted"} and cache:
        raise click.UsageError(
            "--model-cache says nothing here: the scripted model is faster than its answers are found"
        )


def _flag(name: str) -> str:
    return f"--{name.replace('_', '-')}"
