"""Plays the planner: writes both texts from the steps of the known problem."""

import json
from random import Random

from soliloquy.recipes.scene import Scene
from soliloquy.standin.soliloquy.steps import book, is_numeric, list_names, working
from soliloquy.truth.number_format import format_value
from soliloquy.truth.units import measured
from soliloquy.v1.conversation_pb2 import Step, StepKind


def enrich(scene: Scene, rng: Random) -> str:
    steps = scene.problem.steps
    texts = {
        "Detailed Solution": " ".join(f"Step {step.number}) {_explanation(step, rng)}" for step in steps),
        "Solution Outline": " ".join(f"Step {step.number}) {_outline(step, rng)}" for step in steps),
    }
    return json.dumps(texts, ensure_ascii=False)


def _explanation(step: Step, rng: Random) -> str:
    if not is_numeric(step):
        return f"{step.explanation} {step.formula}." if step.formula else step.explanation
    if "=" in step.explanation or not step.expression:
        # A prose explanation already contains the calculation.
        return step.explanation
    worked = f"{step.formula} = {working(step)} = {format_value(step.result.value, step.result.unit)}"
    return f"{step.explanation} {book().one_of(rng, 'planner', 'worked')} {worked}."


def _outline(step: Step, rng: Random) -> str:
    symbolic = not is_numeric(step) or bool(step.inputs)
    return book().one_of(
        rng,
        "planner",
        "outline",
        StepKind.Name(step.kind).removeprefix("STEP_KIND_").lower(),
        ask=step.ask,
        names=list_names(step.inputs),
        formula=step.formula if symbolic else "",
        result=step.result.name,
        unit=measured(step.result.unit),
    )
