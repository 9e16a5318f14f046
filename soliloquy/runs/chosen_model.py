"""Connects a chat with a model that a person has chosen, once the model has answered."""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING

from soliloquy.problems.bank.bank import bank_names, load_bank
from soliloquy.recipes.packages import known_recipes
from soliloquy.recipes.recipe import RANKED
from soliloquy.runtime.failure import Failure, did_you_mean
from soliloquy.runtime.model import ModelRefused, StreamingModel
from soliloquy.runtime.model.accounting import CountedModel
from soliloquy.runtime.model.cache import Key, checked_key, key_of
from soliloquy.runtime.model.faults import RetryableFault
from soliloquy.runtime.model.openai_client import OpenAIClient
from soliloquy.runtime.model.opening import ModelByRole
from soliloquy.runtime.model.remote import RemoteModel
from soliloquy.runtime.model.settings import Models
from soliloquy.runtime.model.settings_file import checked_endpoint, read_models, shipped_models
from soliloquy.runtime.retry import CannotServe
from soliloquy.standin.speakers import speakers_of
from soliloquy.v1.model_pb2 import GenerateRequest, Message, Sampling

if TYPE_CHECKING:
    from soliloquy_services.gateway.chat.endpoints import ChosenModel


# The endpoint's name in metrics and messages.
_NAME = "chat"
_FIRST_ANSWER_SECONDS = 30.0
_GREETING = GenerateRequest(
    messages=[Message(role="user", text="Say OK.")],
    sampling=Sampling(temperature=1.0, top_p=1.0, max_tokens=16),
)


# Each connection is itself, whatever model it asks.
@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class ConnectedModel:
    model: ModelByRole
    close: Callable[[], Awaitable[None]]


async def connect(chosen: "ChosenModel", models: Models, *, keyed: bool, seconds: float) -> ConnectedModel:
    """Raises a Refusal if the model does not answer.

    `models` has the sampling of each role. Only a `keyed` endpoint may be sent the gateway's own key.
    """
    from soliloquy_services.gateway.validation import Code, Refusal

    try:
        table = {"engine": "openai", "base_url": chosen.base_url, "model": chosen.name}
        endpoint = replace(checked_endpoint(table, "endpoint"), timeout=seconds)
        key = key_of(endpoint, _NAME) if keyed and not chosen.key else checked_key(chosen.key, "the key field")
    except Failure as error:
        raise Refusal(Code.INVALID, str(error)) from error
    client = OpenAIClient(_NAME, endpoint, key)
    try:
        await _greet(client, chosen, key)
    except BaseException:
        await client.close()
        raise
    remote = RemoteModel(_NAME, endpoint, client)
    answering: dict[str, StreamingModel] = {endpoint.engine: CountedModel(remote, _NAME, endpoint)}
    return ConnectedModel(model=ModelByRole(models.only_at(endpoint), answering, [remote]), close=remote.close)


async def _greet(client: OpenAIClient, chosen: "ChosenModel", key: Key) -> None:
    """Has the model say a word, so that a wrong address, name or key is known before a chat begins."""
    from soliloquy_services.gateway.validation import Code, Refusal

    try:
        async with asyncio.timeout(_FIRST_ANSWER_SECONDS):
            await client.ask(GenerateRequest.FromString(_GREETING.SerializeToString()), _FIRST_ANSWER_SECONDS)
    except TimeoutError:
        waited = f"{chosen.base_url} has not answered within {_FIRST_ANSWER_SECONDS:g} s"
        raise Refusal(Code.UNAVAILABLE, f"{waited}: try again once the model is loaded") from None
    except (RetryableFault, CannotServe, ModelRefused) as error:
        # An endpoint may repeat the key in its answer.
        why = key.without(str(error).encode()).decode()
        raise Refusal(Code.UNAVAILABLE, f"{chosen.base_url} cannot be asked for {chosen.name!r}: {why}") from None


# The scripted model writes problems from this bank if none of its own sources is a bank.
_WRITING_BANK = "arithmetic"


@dataclass(frozen=True, kw_only=True, slots=True)
class ModelSettings:
    # Banks and files; from the first bank the scripted model takes the problems that it writes.
    problems: Sequence[str] = ()
    # Seconds that the scripted model takes for each answer.
    latency: float = 0.0
    # How often answers have the faults of real models: one of the levels of `standin/levels.toml`.
    noise: str = "none"
    # Which endpoint answers each role. API keys are read where they are used and never travel with the settings.
    models: Models = field(default_factory=shipped_models)
    # A folder of completions that need no second request.
    cache: Path | None = None
    # A file for what the requests of a run are billed.
    spending: Path | None = None


def chosen_models(file: Path) -> Models:
    """Reads a settings file; raises Failure for prompts that no recipe has."""
    models = read_models(file)
    for role, members in models.roles.items():
        if role not in RANKED and any(member.best_of > 1 for member in members):
            ranked = " and ".join(RANKED)
            raise Failure(f"{file}: roles.{role}: nothing ranks its answers: best_of is for {ranked}")
    for name in models.prompts:
        known = _prompts_like(name)
        if name not in known:
            near = did_you_mean(name, known) or f": use {', '.join(known)}"
            raise Failure(f"{file}: prompts: there is no prompt {name!r}{near}")
    return models


def _prompts_like(name: str) -> Sequence[str]:
    """Returns the prompts of the recipe that the name begins with; of every recipe, if there is none of that name."""
    recipe, _, state = name.partition("/")
    if recipe in known_recipes():
        return sorted(speakers_of(recipe))
    return [*speakers_of(recipe), *(f"{known}/{state or '..'}" for known in known_recipes())]


def scripted_model(settings: ModelSettings) -> StreamingModel:
    from soliloquy_services.model.engines.noise import noise_of
    from soliloquy_services.model.engines.scripted import ScriptedEngine

    bank = next((name for name in settings.problems if name in bank_names()), _WRITING_BANK)
    return ScriptedEngine(load_bank(bank).draw, latency=settings.latency, noise=noise_of(settings.noise))
