"""Finds the step that a sub-question covers, and writes it out."""

from soliloquy.recipes.scaffold.labels_pb2 import SubQuestion
from soliloquy.recipes.scaffold.learner import asked_step
from soliloquy.recipes.scripted.parsed_prompt import ParsedPrompt
from soliloquy.truth.expressions import parse_expression
from soliloquy.truth.number_format import written_number
from soliloquy.v1.conversation_pb2 import Step


def target(reading: ParsedPrompt) -> SubQuestion:
    steps = [int(number) for number in reading.attributes("sub_question").get("steps", "").split()]
    return SubQuestion(question=reading.section("sub_question"), answer=reading.section("expected"), steps=steps)


def step(reading: ParsedPrompt) -> Step:
    """Returns the last step that the sub-question covers; the problem's last step if it names none."""
    named = reading.attributes("sub_question").get("steps", "").split()
    return asked_step(reading.problem, SubQuestion(steps=map(int, named)))


def working(of: Step) -> str:
    """Writes the step out in numbers; empty if it calculates nothing."""
    if not of.expression:
        return ""
    symbols = {known.symbol: _in_working(known.value) for known in of.inputs}
    return parse_expression(of.expression).template.format(**symbols)


def _in_working(value: float) -> str:
    written = written_number(value)
    return f"({written})" if "^" in written else written
