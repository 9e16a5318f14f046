"""What somebody who starts something may choose from."""

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from starlette.responses import Response

from services.gateway.asking import LIMITS
from services.gateway.http.answers import answered
from services.gateway.http.asked import Asked
from services.gateway.http.routes import Own
from services.gateway.planning import Offered
from services.gateway.service import Gateway
from soliloquy.recipes.recipe import DEFAULT, find, known_recipes
from soliloquy.runtime.model.settings import Models

# What a form begins with, beside the usual values of `limits.toml`.
_BEGINNING: Mapping[str, str | int] = {"recipe": DEFAULT, "conversations": 100, "seed": 0}
_SEED = {"least": 0, "most": 2**64 - 1}


@dataclass(frozen=True, kw_only=True, slots=True)
class RecipeChoice:
    name: str
    # What a dataset of it is.
    title: str
    # What it writes problems about, where it makes them.
    topics: Sequence[str]
    # Whether a person can be its student.
    tutoring: bool
    # Its labels in words: evaluations, actions, states.
    words: Mapping[str, Any]


@dataclass(frozen=True, kw_only=True, slots=True)
class Choices:
    recipes: Sequence[RecipeChoice]
    # What a run may take its problems from.
    problems: Sequence[Offered]
    # What a form begins with.
    defaults: Mapping[str, str | int]
    # The least, the most and the usual value of a number.
    limits: Mapping[str, Mapping[str, int]]
    # The engine behind each role.
    models: Mapping[str, str]


def choices(gateway: Gateway, models: Models) -> Own:
    async def look(_: Asked) -> Response:
        return answered(asdict(await asyncio.to_thread(_choices, gateway, models)))

    summary = "What somebody who starts a run or a chat may choose from."
    return Own(method="GET", path="/v1/choices", action="GetChoices", summary=summary, handler=look, answer=Choices)


def _choices(gateway: Gateway, models: Models) -> Choices:
    usual = {name: bounds["usual"] for name, bounds in LIMITS.items() if "usual" in bounds}
    return Choices(
        recipes=[_recipe(name) for name in known_recipes()],
        problems=gateway.offered_problems(),
        defaults={**_BEGINNING, **usual},
        limits={**LIMITS, "seed": _SEED},
        models={name: models.endpoint_of(name).engine for name in models.roles},
    )


def _recipe(name: str) -> RecipeChoice:
    # Only here: no start waits for Arrow.
    from soliloquy.dataset.report.words import words_of

    recipe = find(name)
    return RecipeChoice(
        name=name,
        title=recipe.title,
        topics=[*recipe.topics],
        # Where problems are made, nobody talks.
        tutoring=not recipe.topics,
        words=words_of(recipe),
    )
