"""Maps each prompt of the recipe to the function that answers it by rule."""

from collections.abc import Mapping

from soliloquy.recipes.scripted import programs, reader
from soliloquy.recipes.scripted.parsed_prompt import Speaker
from soliloquy.recipes.soliloquy.scripted import planner, student, tutor

SPEAKERS: Mapping[str, Speaker] = {
    "soliloquy/enriching": planner.enrich,
    "soliloquy/student": student.reply,
    "soliloquy/deciding": tutor.decide,
    "soliloquy/use_python": programs.code,
    "soliloquy/reader": reader.read,
    "soliloquy/received_python": tutor.reply,
    "soliloquy/no_python": tutor.reply,
}
