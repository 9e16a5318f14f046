"""The stand-in's answer to each prompt and the faults that noise puts into it, by the prompt's name."""

from collections.abc import Mapping
from typing import Any

from soliloquy.problems.solving import independent_programs
from soliloquy.recipes.packages import known_recipes
from soliloquy.recipes.recipe import find
from soliloquy.recipes.scene import Speaker, Spoil
from soliloquy.standin import claims, noise, programs
from soliloquy.standin.mathdial import planner as mathdial_planner
from soliloquy.standin.mathdial import student as mathdial_student
from soliloquy.standin.mathdial import tutor as mathdial_tutor
from soliloquy.standin.scaffold import planner as scaffold_planner
from soliloquy.standin.scaffold import student as scaffold_student
from soliloquy.standin.scaffold import tutor as scaffold_tutor
from soliloquy.standin.soliloquy import planner as soliloquy_planner
from soliloquy.standin.soliloquy import student as soliloquy_student
from soliloquy.standin.soliloquy import tutor as soliloquy_tutor
from soliloquy.standin.spoilt_messages import spoil_student
from soliloquy.v1.conversation_pb2 import Problem

_SPEAKERS: Mapping[str, Speaker] = {
    "soliloquy/enriching": soliloquy_planner.enrich,
    "soliloquy/student": soliloquy_student.reply,
    "soliloquy/deciding": soliloquy_tutor.decide,
    "soliloquy/received_python": soliloquy_tutor.reply,
    "soliloquy/no_python": soliloquy_tutor.reply,
    "scaffold/planning": scaffold_planner.plan,
    "scaffold/verifying": scaffold_planner.verify,
    "scaffold/judging": scaffold_planner.judge,
    "scaffold/plan": scaffold_planner.plan_alone,
    "scaffold/solving": scaffold_planner.solve,
    "scaffold/student": scaffold_student.reply,
    "scaffold/describing": scaffold_tutor.describe,
    "scaffold/tutoring": scaffold_tutor.reply,
    "mathdial/solving": mathdial_planner.solve,
    "mathdial/mistaking": mathdial_planner.mistake,
    "mathdial/describing": mathdial_planner.describe,
    "mathdial/student": mathdial_student.reply,
    "mathdial/deciding": mathdial_tutor.decide,
    "mathdial/choosing": mathdial_tutor.choose,
    "mathdial/replying": mathdial_tutor.reply,
}
_NOISE: Mapping[str, Spoil] = {
    "soliloquy/enriching": noise.spoil_enrichment,
    "soliloquy/received_python": noise.spoil_judgement,
    "soliloquy/no_python": noise.spoil_judgement,
    "scaffold/tutoring": noise.spoil_tutored,
    "mathdial/replying": noise.spoil_message,
    **{f"{recipe}/student": spoil_student for recipe in noise.RATES},
}


def speakers_of(recipe: str) -> Mapping[str, Speaker]:
    """Returns who answers the prompts of a recipe; of none that is known, those that belong to no recipe."""
    if recipe not in known_recipes():
        return independent_programs.SPEAKERS
    own = {prompt: speak for prompt, speak in _SPEAKERS.items() if prompt.startswith(f"{recipe}/")}
    return (
        own | {f"{recipe}/use_python": programs.code, f"{recipe}/reader": claims.read} if own else find(recipe).speakers
    )


def spoils() -> Mapping[str, Spoil]:
    """Returns what puts faults into the answers to each prompt."""
    return {**_NOISE, **{prompt: spoil for name in known_recipes() for prompt, spoil in find(name).noise.items()}}


def rates_of(recipe: str) -> Mapping[str, Any]:
    """Returns how often a recipe's own faults occur."""
    return noise.RATES.get(recipe) or find(recipe).noise_rates


# Trying a problem takes milliseconds: no more than these are tried before a run.
FORESEEN = 2_000


def why_unusable(recipe: str, problem: Problem) -> str:
    """Returns why the stand-in has no use for a problem that the recipe can use; empty if it has."""
    return mathdial_planner.without_confusion(problem) if recipe == "mathdial" else ""
