"""The options that choose the models, the same for every command that asks one."""

from pathlib import Path

import click

from soliloquy.cli.command import gathered, option
from soliloquy.cli.options import ADDRESS, EXISTING_FILE, NEW_FOLDER, Choice
from soliloquy.cli.run_file import is_given
from soliloquy.cli.service_options import LATENCY, NOISE
from soliloquy.runs.model import ModelSettings, chosen_models
from soliloquy.runtime.files import refuse_foreign
from soliloquy.runtime.model.settings import Models
from soliloquy.runtime.model.settings_file import checked_endpoint, shipped_models

_MODEL = option(
    "For all roles: the rule-based stand-in, an OpenAI-compatible API, or the model service.  [default: scripted]",
    type=Choice(["scripted", "openai", "ray"], advice="the name of a model is for --model-name"),
)
# In place of --model, for a command whose prompts the stand-in does not know.
HOSTED_MODEL = option(
    "For all roles: an OpenAI-compatible API, or the model service. There is no default.",
    "--model",
    type=Choice(["openai", "ray"], advice="the stand-in knows none of these prompts"),
)
RECORD = option(
    "Record each request with its answer there, and answer from it what is there.", "--record", type=NEW_FOLDER
)
# The option that each choice of --model requires, and the entry of the endpoint that each option sets.
_PLACE = {"openai": "base_url", "ray": "model_address"}
_ENTRIES = {"base_url": "base_url", "model_address": "address", "model_name": "model"}


def _models(
    model: str | None = _MODEL,
    base_url: str | None = option(
        "The API, as https://api.example.com/v1. Its key is in OPENAI_API_KEY.", metavar="URL"
    ),
    model_address: str | None = option("The address of the model service.", type=ADDRESS),
    model_name: str | None = option(
        "The name of the model at the endpoint; required if it has several.", metavar="NAME"
    ),
    model_settings: Path | None = option(
        "Endpoints, mixtures, adapters and sampling of each role and prompt, as TOML.", type=EXISTING_FILE
    ),
    record: Path | None = RECORD,
) -> Models:
    options = {"base_url": base_url, "model_address": model_address, "model_name": model_name}
    given = {name: value for name, value in options.items() if value}
    place = _PLACE.get(model or "")
    for name in given:
        if name != place and not (place and name == "model_name"):
            wanted = [choice for choice, needed in _PLACE.items() if name in (needed, "model_name")]
            raise click.UsageError(f"{_flag(name)} requires --model {' or '.join(wanted)}")
    if place and place not in given:
        raise click.UsageError(f"--model {model} requires {_flag(place)}")
    models = chosen_models(model_settings) if model_settings else shipped_models()
    if model is not None and models.endpoints != shipped_models().endpoints:
        raise click.UsageError(f"--model cannot be used with the endpoints in {model_settings}: remove one of them")
    if model is not None:
        entries = {_ENTRIES[name]: value for name, value in given.items()}
        models = models.only_at(checked_endpoint({"engine": model, **entries}, f"--model {model}"))
    _refuse_useless_options(models, record)
    return models


MODELS = gathered(_models)


def _model_settings(
    models: Models = MODELS, record: Path | None = RECORD, latency: float = LATENCY, noise: str = NOISE
) -> ModelSettings:
    return ModelSettings(latency=latency, noise=noise, models=models, record=record)


# The settings of the model that services ask.
MODEL = gathered(_model_settings)


def _refuse_useless_options(models: Models, record: Path | None) -> None:
    """Refuses options of the scripted model if no role asks it, and a recording if no other model is asked."""
    context = click.get_current_context()
    engines = {endpoint.engine for endpoint in models.used.values()}
    if record:
        # The file of the answers tells its folder from others.
        refuse_foreign(record, "answers.jsonl", option="--record")
    for name in ("latency", "noise"):
        if "scripted" not in engines and is_given(context, name):
            raise click.UsageError(f"--{name} requires a role that the scripted model plays")
    if engines == {"scripted"} and record:
        raise click.UsageError("--record requires a hosted model: the scripted model gives the same answers again")


def _flag(name: str) -> str:
    return f"--{name.replace('_', '-')}"
