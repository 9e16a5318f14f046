"""Describes services by everything that can change their answers, and compares them with what a run is told."""

import os
from collections import defaultdict
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from soliloquy.dataset.lineage import as_settings, settings_of
from soliloquy.recipes.packages import folder, known_recipes
from soliloquy.runs.model import ModelSettings
from soliloquy.runtime.distribution import installed_version
from soliloquy.runtime.extensions import BadPackage, installed_entry_points, is_ours
from soliloquy.runtime.handling import Service
from soliloquy.runtime.model.settings import Models
from soliloquy.runtime.reading import descriptions
from soliloquy.runtime.transports.port import Transport, Unanswered
from soliloquy.runtime.weights import digest_of
from soliloquy.v1.events_pb2 import ServiceDescribed

if TYPE_CHECKING:
    from soliloquy_services.executor.policy import SandboxSettings

# The variable in which the chart names the image of a container.
IMAGE = "SOLILOQUY_IMAGE"
_ASKING = ("planner", "student", "tutor", "codegen", "composer")
# The entry points of code that answers, or judges answers.
_GROUPS = ("soliloquy.recipes", "soliloquy.recipe_parts", "soliloquy.truth")
_DIGITS = 12


def described(
    service: Service,
    model: ModelSettings | None = None,
    sandbox: "SandboxSettings | None" = None,
    classifiers: Path | None = None,
) -> Service:
    """Returns the service with its description; ports, folders and limits of speed are no part of it."""
    settings = dict(_installed())
    if model and service.name in _ASKING:
        settings |= _answering(model.models, model.noise)
    if service.name == "composer" and classifiers:
        settings["classifiers_sha256"] = digest_of([classifiers])
    if service.name == "executor" and sandbox:
        settings |= {"wall_seconds": sandbox.wall_seconds, "memory_bytes": sandbox.memory_bytes}
    description = ServiceDescribed(
        service=service.name,
        version=installed_version(),
        image=os.environ.get(IMAGE, ""),
        settings=as_settings(settings),
    )
    return replace(service, description=description)


async def differences(transport: Transport, models: Models, noise: str) -> str:
    """Says which services differ from what a run is told; empty if none does, or if the transport does not answer."""
    told = {"version": installed_version(), **_answering(models, noise), **_installed()}
    found: defaultdict[str, list[str]] = defaultdict(list)
    with suppress(Unanswered):
        # One that was described last is there, as far as anybody knows.
        latest = {one.service: one for one in (await descriptions(transport)).values()}
        for name, one in sorted(latest.items()):
            if why := _difference({"version": one.version, **settings_of(one)}, told):
                found[why].append(name)
    return "; ".join(f"{', '.join(names)}: {why}" for why, names in found.items())


def _difference(here: Mapping[str, Any], told: Mapping[str, Any]) -> str:
    for name, wanted in told.items():
        if name in here and here[name] != wanted:
            return f"other {name}" if isinstance(wanted, dict | list) else f"{name} {here[name]}, not {wanted}"
    return ""


def _answering(models: Models, noise: str) -> dict[str, Any]:
    return {**models.identity(), "noise": noise}


@cache
def _installed() -> Mapping[str, Any]:
    """Returns a digest of the prompts and rules of each recipe, and the versions of other packages."""
    recipes = {}
    for recipe in known_recipes():
        # A run that asks for such a recipe is told.
        with suppress(BadPackage, OSError):
            place = folder(recipe)
            recipes[recipe] = digest_of(sorted([*place.glob("prompts/*"), *place.glob("*.toml")]))[:_DIGITS]
    points = [point for group in _GROUPS for point in installed_entry_points().select(group=group)]
    others = {point.dist.name: point.dist.version for point in points if not is_ours(point.value) and point.dist}
    return {"recipes": recipes, **({"packages": others} if others else {})}
