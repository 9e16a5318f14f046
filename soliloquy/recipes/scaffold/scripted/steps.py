"""Finds the step that a sub-question covers, and the right and wrong ways through it."""

from collections.abc import Iterator

from soliloquy.recipes.scaffold.expected_answers import expects_formula, gives_expected
from soliloquy.recipes.scaffold.labels_pb2 import SubQuestion
from soliloquy.recipes.scripted.parsed_prompt import ParsedPrompt
from soliloquy.truth.expressions import parse_expression
from soliloquy.truth.number_format import format_number, format_value
from soliloquy.v1.conversation_pb2 import Step


def target(reading: ParsedPrompt) -> SubQuestion:
    return SubQuestion(question=reading.section("sub_question"), answer=reading.section("expected"))


def step(reading: ParsedPrompt) -> Step:
    """Returns the last step that the sub-question covers; the problem's last step if it names none."""
    steps = reading.problem.steps
    named = [int(number) for number in reading.attributes("sub_question").get("steps", "").split()]
    known = [number for number in named if 1 <= number <= len(steps)]
    return steps[known[-1] - 1] if known else steps[-1]


def working(of: Step) -> str:
    """Writes the step out in numbers; empty if it calculates nothing."""
    if not of.expression:
        return ""
    symbols = {known.symbol: format_number(known.value) for known in of.inputs}
    return parse_expression(of.expression).template.format(**symbols)


def mistakes(of: Step, wanted: SubQuestion) -> Iterator[tuple[str, str]]:
    """Yields wrong ways with their results, except those that yield the expected answer anyway."""
    formula = expects_formula(wanted.answer)
    for slip in of.slips:
        said, value = slip.working, format_value(slip.value, slip.unit)
        if formula:
            said = " = ".join(slip.working.split(" = ")[:2])
        if gives_expected(said if formula else value, wanted) is False:
            yield said, value
