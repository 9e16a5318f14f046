"""The step of a problem that a sub-question is about, and the right and wrong ways through it."""

from collections.abc import Iterator

from soliloquy.recipes.scaffold.expected_answers import is_formula, right
from soliloquy.recipes.scripted.parsed_prompt import Reading
from soliloquy.truth.expressions import compiled
from soliloquy.truth.number_format import with_unit, written
from soliloquy.v1.conversation_pb2 import Step, SubQuestion


def target(reading: Reading) -> SubQuestion:
    return SubQuestion(question=reading.section("sub_question"), answer=reading.section("expected"))


def step(reading: Reading) -> Step:
    """The last that the current sub-question covers; the last of all where it names none."""
    steps = reading.problem.steps
    named = [int(number) for number in reading.attributes("sub_question").get("steps", "").split()]
    known = [number for number in named if 1 <= number <= len(steps)]
    return steps[known[-1] - 1] if known else steps[-1]


def working(of: Step) -> str:
    """The step written out in numbers; empty where nothing is calculated."""
    if not of.expression:
        return ""
    symbols = {known.symbol: written(known.value) for known in of.inputs}
    return compiled(of.expression).template.format(**symbols)


def mistakes(of: Step, wanted: SubQuestion) -> Iterator[tuple[str, str]]:
    """Wrong ways with what they come to, but for those that come to the expected answer all the same."""
    formula = is_formula(wanted.answer)
    for slip in of.slips:
        said, value = slip.working, with_unit(written(slip.value), slip.unit)
        if formula:
            said = " = ".join(slip.working.split(" = ")[:2])
        if right(said if formula else value, wanted) is False:
            yield said, value
