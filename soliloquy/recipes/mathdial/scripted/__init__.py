"""The scripted speakers that answer each prompt of the recipe."""

from collections.abc import Mapping

from soliloquy.recipes.mathdial.scripted import planner, student, tutor
from soliloquy.recipes.scripted import programs, reader
from soliloquy.recipes.scripted.parsed_prompt import Speaker

SPEAKERS: Mapping[str, Speaker] = {
    "mathdial/solving": planner.solve,
    "mathdial/describing": planner.describe,
    "mathdial/student": student.reply,
    "mathdial/deciding": tutor.decide,
    "mathdial/use_python": programs.code,
    "mathdial/reader": reader.read,
    "mathdial/choosing": tutor.choose,
    "mathdial/replying": tutor.reply,
}
