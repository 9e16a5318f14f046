"""Maps each prompt of the recipe to the function that answers it by rule."""

from collections.abc import Mapping

from soliloquy.recipes.scaffold.scripted import planner, solver, student, tutor
from soliloquy.recipes.scripted import programs, reader
from soliloquy.recipes.scripted.parsed_prompt import Speaker

SPEAKERS: Mapping[str, Speaker] = {
    "scaffold/planning": planner.plan,
    "scaffold/verifying": planner.verify,
    "scaffold/judging": planner.judge,
    "scaffold/plan": planner.plan_alone,
    "scaffold/solving": solver.solve,
    "scaffold/student": student.reply,
    "scaffold/describing": tutor.describe,
    "scaffold/use_python": programs.code,
    "scaffold/reader": reader.read,
    "scaffold/tutoring": tutor.reply,
}
