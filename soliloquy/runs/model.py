"""The model that a process asks: its settings, and the scripted model that stands in for an endpoint."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from soliloquy.problems.bank.bank import bank_names, load_bank
from soliloquy.recipes.packages import known_recipes
from soliloquy.recipes.recipe import RANKED
from soliloquy.runtime.failure import Failure, did_you_mean
from soliloquy.runtime.model import StreamingModel
from soliloquy.runtime.model.settings import Models
from soliloquy.runtime.model.settings_file import read_models, shipped_models
from soliloquy.standin.speakers import speakers_of

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
    # A folder in which requests are recorded with their answers.
    record: Path | None = None
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
