"""The step of a problem that a sub-question is about, and the right and wrong ways through it."""

from collections.abc import Iterator

from soliloquy.recipes.scaffold.expected_answers import expects_formula, gives_expected
from soliloquy.recipes.scripted.parsed_prompt import ParsedPrompt
from soliloquy.truth.expressions import parse_expression
from soliloquy.truth.number_format import format_number, format_value
from soliloquy.v1.conversation_pb2 import Step, SubQuestion


def target(reading: ParsedPrompt) -> SubQuestion:
    return SubQuestion(question=reading.section("sub_question"), answer=reading.section("expected"))


def step(reading: ParsedPrompt) -> Step:
    """The last that the current sub-question covers; the last of all where it names none."""
    steps = reading.problem.steps
    named = [int(number) for number in reading.attributes("sub_question").get("steps", "").split()]
    known = [number for number in named if 1 <= number <= len(steps)]
    return steps[known[-1] - 1] if known else steps[-1]


def working(of: Step) -> str:
    """The step written out in numbers; empty where nothing is calculated."""
    if not of.expression:
        return ""
    symbols = {known.symbol: format_number(known.value) for known in of.inputs}
    return parse_expression(of.expression).template.format(**symbols)


def mistakes(of: Step, wanted: SubQuestion) -> Iterator[tuple[str, str]]:
    """Wrong ways with what they come to, but for those that come to the expected answer all the same."""
    formula = expects_formula(wanted.answer)
    for slip in of.slips:
        said, value = slip.working, format_value(slip.value, slip.unit)
        if formula:
            said = " = ".join(slip.working.split(" = ")[:2])
        if gives_expected(said if formula else value, wanted) is False:
            yield said, value
