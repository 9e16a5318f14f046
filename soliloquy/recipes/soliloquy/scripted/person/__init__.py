"""Plays the tutor of a person, whose words follow no script: judges only what it can read, and asks otherwise."""

from collections.abc import Mapping

from soliloquy.recipes.person import Guide
from soliloquy.recipes.scripted.parsed_prompt import Speaker
from soliloquy.recipes.soliloquy.scripted.person import tutor
from soliloquy.recipes.soliloquy.scripted.phrases import book

GUIDE = Guide(**book().tables["person"]["guide"])
SPEAKERS: Mapping[str, Speaker] = {
    "soliloquy/deciding": tutor.decide,
    "soliloquy/received_python": tutor.reply,
    "soliloquy/no_python": tutor.reply,
}
