"""Problems worked through on paper, rightly or with one mistake."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from soliloquy.recipes.mathdial.answers import PlausibleMistake
from soliloquy.recipes.mathdial.claims import is_right
from soliloquy.recipes.plausibility import is_plausible
from soliloquy.recipes.quantity_names import result_name
from soliloquy.runtime.seeds import draw
from soliloquy.texts.phrases import says
from soliloquy.truth.expressions import UNWORKABLE, parse_expression
from soliloquy.truth.number_format import format_number, format_value, tidy
from soliloquy.v1.conversation_pb2 import ErrorStrategy, Problem, Slip, Step

_NAME = re.compile(r"(?<![\w.])[^\W\d]\w*")
_NUMBERS = re.compile(r"[-+*/×÷().\d\s]+")
_SAME = 0.005


@dataclass(frozen=True, kw_only=True, slots=True)
class WorkedLine:
    """A step on paper: the calculation in numbers and its value."""

    step: Step
    name: str
    numbers: str
    value: float

    @property
    def equation(self) -> str:
        return f"{self.numbers} = {format_number(self.value)}"


@dataclass(frozen=True, kw_only=True, slots=True)
class Mistake:
    step: Step
    slip: Slip

    @property
    def numbers(self) -> str:
        return _put_in(self.slip)


def work_through(problem: Problem, mistake: Mistake | None = None) -> list[WorkedLine]:
    """Works each step, carrying a mistake on from its step; raises UNWORKABLE if a step has no value."""
    values: dict[str, float] = {}
    lines = []
    for step in problem.steps:
        if not step.expression:
            continue
        for known in step.inputs:
            values.setdefault(known.symbol, known.value)
        if mistake is not None and step.number == mistake.step.number:
            numbers, value = _put_in(mistake.slip), mistake.slip.value
        else:
            numbers, value = _filled(step.expression, values), tidy(parse_expression(step.expression).value(values))
        values[step.result.symbol] = value
        lines.append(WorkedLine(step=step, name=result_name(step, problem), numbers=numbers, value=value))
    return lines


def mistakes(problem: Problem) -> Sequence[Mistake]:
    """Returns the mistakes of thought that can be written as a calculation, typical ones first."""
    found = []
    for step in problem.steps:
        for slip in step.slips:
            numbers = _put_in(slip)
            # A miscalculation or a misread number is no confusion, and "-18" is no calculation.
            is_thought = slip.strategy != ErrorStrategy.ERROR_STRATEGY_ARITHMETIC
            if is_thought and step.expression and any(sign in numbers.lstrip("-") for sign in "+-*/"):
                found.append(Mistake(step=step, slip=slip))
    # The same order for every sample of a problem, so that pupils share their mistakes.
    draw(problem.id, "mistakes").shuffle(found)
    return sorted(found, key=lambda one: (not handed_in(problem, one), says(one.slip.working, one.step.formula)))


def handed_in(problem: Problem, mistake: Mistake) -> list[WorkedLine]:
    """Works the problem through with a mistake; empty if a pupil would not hand it in, or passes the right answer."""
    try:
        lines = work_through(problem, mistake)
    except UNWORKABLE:
        return []
    last, right = lines[-1].value, problem.answer
    passes = any(is_right(line.value, problem) for line in lines)
    return lines if is_plausible(last, right.value, right.unit) and not passes else []


def known_mistakes(problem: Problem) -> list[PlausibleMistake]:
    """Returns wrong solutions that pupils hand in who make a mistake that the problem knows, typical ones first."""
    found = [(one.slip.because, handed_in(problem, one)) for one in mistakes(problem) if one.slip.because]
    return [PlausibleMistake(Belief=belief, Solution=written_out(lines)) for belief, lines in found if lines]


def written_out(lines: Sequence[WorkedLine]) -> str:
    said = [f"The {line.name}: {line.numbers} = {format_value(line.value, line.step.result.unit)}." for line in lines]
    return "\n".join([*said, f"#### {format_number(lines[-1].value)}"])


def is_among(value: float, results: Sequence[float]) -> bool:
    return any(abs(value - result) <= _SAME * abs(result) for result in results)


def _put_in(slip: Slip) -> str:
    """Returns the calculation of a mistake; empty if its working has no numbers."""
    numbers = slip.working.rpartition(" = ")[2].replace("×", "*").replace("÷", "/")
    return numbers if _NUMBERS.fullmatch(numbers) else ""


def _filled(expression: str, values: Mapping[str, float]) -> str:
    return _NAME.sub(lambda name: format_number(values[name[0]]) if name[0] in values else name[0], expression)
