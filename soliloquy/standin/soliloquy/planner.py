"""Plays the planner: writes both texts from the steps of the known problem."""

import json
from random import Random

from soliloquy.recipes.scene import Scene
from soliloquy.standin.steps import is_numeric, working
from soliloquy.truth.number_format import format_value
from soliloquy.v1.conversation_pb2 import Step


def enrich(scene: Scene, rng: Random) -> str:
    steps = scene.problem.steps
    texts = {
        "Detailed Solution": " ".join(f"Step {step.number}) {_explained(step)}" for step in steps),
        "Solution Outline": " ".join(f"Step {step.number}) {_outlined(step)}" for step in steps),
    }
    return json.dumps(texts, ensure_ascii=False)


def _explained(step: Step) -> str:
    if not is_numeric(step):
        return f"{step.explanation} {step.formula}." if step.formula else step.explanation
    if "=" in step.explanation or not step.expression:
        # A prose explanation already contains the calculation.
        return step.explanation
    return f"{step.explanation} {step.formula} = {working(step)} = {format_value(step.result.value, step.result.unit)}."


def _outlined(step: Step) -> str:
    return f"Find the {step.result.name}." if is_numeric(step) and step.result.name else step.ask
