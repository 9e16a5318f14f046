"""The stand-in's answer to each prompt and the faults that noise puts into it, by the prompt's name."""

from collections.abc import Callable, Mapping
from typing import Any

from soliloquy.problems.solving import independent_programs
from soliloquy.recipes.packages import known_recipes
from soliloquy.recipes.recipe import find
from soliloquy.recipes.scene import Speaker, Spoil
from soliloquy.runtime.files import table_beside
from soliloquy.standin import programs, reader
from soliloquy.standin.mathdial import noise as mathdial_noise
from soliloquy.standin.mathdial import planner as mathdial_planner
from soliloquy.standin.mathdial import student as mathdial_student
from soliloquy.standin.mathdial import tutor as mathdial_tutor
from soliloquy.standin.scaffold import noise as scaffold_noise
from soliloquy.standin.scaffold import planner as scaffold_planner
from soliloquy.standin.scaffold import solver
from soliloquy.standin.scaffold import student as scaffold_student
from soliloquy.standin.scaffold import tutor as scaffold_tutor
from soliloquy.standin.soliloquy import noise as soliloquy_noise
from soliloquy.standin.soliloquy import planner as soliloquy_planner
from soliloquy.standin.soliloquy import student as soliloquy_student
from soliloquy.standin.soliloquy import tutor as soliloquy_tutor
from soliloquy.standin.spoilt_messages import spoil_student
from soliloquy.v1.conversation_pb2 import Problem

_OURS: Mapping[str, Mapping[str, Speaker]] = {
    "soliloquy": {
        "soliloquy/enriching": soliloquy_planner.enrich,
        "soliloquy/student": soliloquy_student.reply,
        "soliloquy/deciding": soliloquy_tutor.decide,
        "soliloquy/use_python": programs.code,
        "soliloquy/reader": reader.read,
        "soliloquy/received_python": soliloquy_tutor.reply,
        "soliloquy/no_python": soliloquy_tutor.reply,
    },
    "scaffold": {
        "scaffold/planning": scaffold_planner.plan,
        "scaffold/verifying": scaffold_planner.verify,
        "scaffold/judging": scaffold_planner.judge,
        "scaffold/plan": scaffold_planner.plan_alone,
        "scaffold/solving": solver.solve,
        "scaffold/student": scaffold_student.reply,
        "scaffold/describing": scaffold_tutor.describe,
        "scaffold/use_python": programs.code,
        "scaffold/reader": reader.read,
        "scaffold/tutoring": scaffold_tutor.reply,
    },
    "mathdial": {
        "mathdial/solving": mathdial_planner.solve,
        "mathdial/describing": mathdial_planner.describe,
        "mathdial/student": mathdial_student.reply,
        "mathdial/deciding": mathdial_tutor.decide,
        "mathdial/use_python": programs.code,
        "mathdial/reader": reader.read,
        "mathdial/choosing": mathdial_tutor.choose,
        "mathdial/replying": mathdial_tutor.reply,
    },
}
_NOISE: Mapping[str, Spoil] = {
    "soliloquy/enriching": soliloquy_noise.spoil_enrichment,
    "soliloquy/student": spoil_student,
    "soliloquy/received_python": soliloquy_noise.spoil_judgement,
    "soliloquy/no_python": soliloquy_noise.spoil_judgement,
    "scaffold/student": spoil_student,
    "scaffold/tutoring": scaffold_noise.spoil_tutored,
    "mathdial/student": spoil_student,
    "mathdial/replying": mathdial_noise.spoil_message,
}
_RATES = {
    "soliloquy": table_beside(soliloquy_noise.__file__, "noise.toml"),
    "scaffold": table_beside(scaffold_noise.__file__, "noise.toml"),
    "mathdial": table_beside(mathdial_noise.__file__, "noise.toml"),
}
_UNUSABLE: Mapping[str, Callable[[Problem], str]] = {"mathdial": mathdial_planner.without_confusion}


def speakers_of(recipe: str) -> Mapping[str, Speaker]:
    """Returns who answers the prompts of a recipe; of none that is known, those that belong to no recipe."""
    if recipe not in known_recipes():
        return independent_programs.SPEAKERS
    return _OURS.get(recipe) or find(recipe).speakers


def spoils() -> Mapping[str, Spoil]:
    """Returns what puts faults into the answers to each prompt."""
    return {**_NOISE, **{prompt: spoil for name in known_recipes() for prompt, spoil in find(name).noise.items()}}


def rates_of(recipe: str) -> Mapping[str, Any]:
    """Returns how often a recipe's own faults occur."""
    return _RATES.get(recipe) or find(recipe).noise_rates


def why_unusable(recipe: str, problem: Problem) -> str:
    """Returns why the stand-in has no use for a problem that the recipe can use; empty if it has."""
    return _UNUSABLE[recipe](problem) if recipe in _UNUSABLE else ""
