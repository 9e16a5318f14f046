"""Reads what was calculated for the tutor: a verdict on the student's number, and the tutor's own."""

from collections.abc import Mapping

from soliloquy.recipes.scripted.parsed_prompt import ParsedPrompt
from soliloquy.recipes.soliloquy.scripted.replies import ReplyReading
from soliloquy.truth.exactness import is_right


def verdict(reading: ParsedPrompt, said: ReplyReading) -> bool | None:
    """Whether the output confirms the student's number; None if nothing was calculated."""
    if not reading.has("output"):
        return None
    told_so = [value == "True" for value in reading.output.values() if value in ("True", "False")]
    if told_so:
        return told_so[0]
    number = calculated_number(reading.output)
    if number is None or said.value is None:
        return None
    return is_right(said.value, number, reading.step.result.unit, reading.problem.tolerance or 0.01)


def calculated_number(output: Mapping[str, str]) -> float | None:
    """Returns the first number among the tutor's own variables."""
    for name, value in output.items():
        if not name.startswith("student"):
            try:
                return float(value)
            except ValueError:
                continue
    return None
