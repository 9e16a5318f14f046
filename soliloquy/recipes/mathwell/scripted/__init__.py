"""The scripted speakers that answer each prompt of the recipe."""

from collections.abc import Mapping

from soliloquy.recipes.mathwell.scripted import judge, writer
from soliloquy.recipes.scripted.parsed_prompt import Speaker

SPEAKERS: Mapping[str, Speaker] = {"mathwell/writing": writer.write, "mathwell/judging": judge.judge}
