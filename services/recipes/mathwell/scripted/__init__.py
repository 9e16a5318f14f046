"""The recipe's one speaker for the scripted engine, by the prompt's name."""

from collections.abc import Mapping

from services.recipes.mathwell.scripted import writer
from services.recipes.scripted.reading import Speaker

SPEAKERS: Mapping[str, Speaker] = {"mathwell/writing": writer.write}
