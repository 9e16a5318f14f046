"""What each prompt of the recipe is answered with when no language model is there."""

from collections.abc import Callable, Mapping
from random import Random

from services.recipes.soliloquy.scripted import codegen, composer, planner, student, tutor
from services.recipes.soliloquy.scripted.reading import Reading

Speaker = Callable[[Reading, Random], str]

SPEAKERS: Mapping[str, Speaker] = {
    "soliloquy/enriching": planner.enrich,
    "soliloquy/student": student.reply,
    "soliloquy/deciding": tutor.decide,
    "soliloquy/use_python": codegen.code,
    "soliloquy/received_python": composer.reply,
    "soliloquy/no_python": composer.reply,
}
