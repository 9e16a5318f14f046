"""The choices of whoever starts a run or a chat."""

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from soliloquy.recipes.packages import DEFAULT, known_recipes
from soliloquy.recipes.recipe import find
from soliloquy.runtime.model.settings import Models
from soliloquy.truth.locales import languages, locale
from soliloquy_services.gateway.access.tenants import TENANT
from soliloquy_services.gateway.http.downloads import FormatChoice, formats
from soliloquy_services.gateway.http.routes import HttpRoute, RequestContext
from soliloquy_services.gateway.planning import Offered
from soliloquy_services.gateway.requests import RUN_LIMITS
from soliloquy_services.gateway.service import Gateway

# A form's initial values, beside the usual values of `limits.toml`.
_DEFAULTS: Mapping[str, str | int] = {"recipe": DEFAULT, "conversations": 100, "seed": 0}
_SEED = {"least": 0, "most": 2**64 - 1}


@dataclass(frozen=True, kw_only=True, slots=True)
class RecipeChoice:
    name: str
    # Describes a dataset of this recipe.
    title: str
    # For a recipe that writes problems: what they are about.
    topics: Sequence[str]
    # Whether a person can be the student.
    tutoring: bool
    # Labels in words: evaluations, actions, states.
    words: Mapping[str, Any]
    # Explains each rule that rejects conversations.
    rules: Mapping[str, str]


@dataclass(frozen=True, kw_only=True, slots=True)
class Choices:
    recipes: Sequence[RecipeChoice]
    # The banks and files that a run may take its problems from.
    problems: Sequence[Offered]
    # The languages besides English that a run may speak, each with its name.
    languages: Mapping[str, str]
    # A form's initial values.
    defaults: Mapping[str, str | int]
    # For each number, its least, most and usual value.
    limits: Mapping[str, Mapping[str, int]]
    # The engine behind each role.
    models: Mapping[str, str]
    # The formats that a run's conversations can be downloaded in.
    formats: Sequence[FormatChoice]


def choices(gateway: Gateway, models: Models) -> HttpRoute:
    async def list_choices(_: RequestContext) -> Choices:
        """The choices of somebody who starts a run or a chat."""
        return await asyncio.to_thread(_choices, gateway, models)

    return HttpRoute("GET", "/v1/choices", "GetChoices", list_choices, answer=Choices)


def _choices(gateway: Gateway, models: Models) -> Choices:
    usual = {name: bounds["usual"] for name, bounds in RUN_LIMITS.items() if "usual" in bounds}
    return Choices(
        recipes=[_recipe(name) for name in known_recipes()],
        problems=gateway.planning.offered(TENANT.get()),
        languages={language: locale(language).table["name"] for language in languages()},
        defaults={**_DEFAULTS, **usual},
        limits={**RUN_LIMITS, "seed": _SEED},
        models={
            name: ", ".join(dict.fromkeys(endpoint.engine for endpoint in models.asked(name))) for name in models.roles
        },
        formats=formats(),
    )


def _recipe(name: str) -> RecipeChoice:
    # Imported here because it loads Arrow, which no start should wait for.
    from soliloquy.dataset.view import words_of

    recipe = find(name)
    return RecipeChoice(
        name=name,
        title=recipe.title,
        topics=[*recipe.topics({})] if recipe.topics else [],
        # A recipe that writes problems has no student.
        tutoring=not recipe.topics,
        words=words_of(name, recipe),
        rules={rule: told.says for rule, told in recipe.rules.book.rules.items()} if recipe.rules else {},
    )
