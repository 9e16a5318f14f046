"""Promises about the numbers of a family, their units and laws: by a units library and by computer algebra."""

import math
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence

from soliloquy.problems.bank.family import Family
from soliloquy.problems.bank.family_steps import StatedStep, WorkedStep, Worksheet
from soliloquy.truth.algebra import are_equivalent, is_solved_by
from soliloquy.truth.laws import Law, law, law_between, laws_in
from soliloquy.truth.number_format import format_value, is_workable
from soliloquy.truth.unit_algebra import UnitsDisagree, calculate, convert
from soliloquy.truth.units import unit
from soliloquy.v1.conversation_pb2 import (
    STEP_KIND_ALGEBRA,
    STEP_KIND_CONVERT,
    STEP_KIND_EQUATION,
    STEP_KIND_REARRANGE,
    Problem,
    Step,
)

# From the force between two electrons far apart to the distance of a star.
SMALLEST, LARGEST = 1e-40, 1e20
# Slips differ from the right value by at least this share, whatever the tolerance.
CLOSEST = 0.03
# Every draw of a family has the same units and the same law.
ENOUGH = 5
# The relative error of a convenient factor, such as 1.602e-19 for 1.602176634e-19.
FACTOR = 0.002
# Results have five digits, and a law may subtract two of them.
ROUNDING = 0.003
LETTER = re.compile(r"\b[^\W\d_]\b")
# The quantities of these banks count things, so that only conversions between units of measurement can be checked.
COUNTING = ("algebra", "arithmetic", "fractions", "statistics")
FEWEST_SLIPS = 2
# A misconception that a file names comes to something else than the right value in this share of the draws.
TELLING = 0.4


def expressions_give_their_results(family: Family, problems: Sequence[Problem]) -> Iterator[str]:
    worked = {place: step for place, step in enumerate(family.steps) if isinstance(step, WorkedStep)}
    for problem in problems:
        for place, known in worked.items():
            step = problem.steps[place]
            value = known.expression.value({own.symbol: own.value for own in step.inputs})
            if not math.isclose(value, step.result.value, rel_tol=1e-4):
                yield f"{_named(step)} is {step.result.value:g}, but {step.expression} gives {value:g}"
        if worked and problem.answer != problem.steps[-1].result:
            yield "the answer is not the result of the last step"


def roundings_do_no_harm(family: Family, problems: Sequence[Problem]) -> Iterator[str]:
    """Without rounding on the way, the answer changes by less than half its tolerance."""
    if family.file.tolerance is None:
        return
    for problem in problems:
        values = {own.symbol: own.value for step in reversed(problem.steps) for own in step.inputs}
        for known in family.steps:
            if isinstance(known, WorkedStep):
                values[known.symbol] = known.expression.value(values)
        exact, answer = values[problem.answer.symbol], problem.answer.value
        if not math.isclose(exact, answer, rel_tol=family.file.tolerance / 2):
            yield f"the answer is {answer:g}, but {exact:g} without rounding on the way: {problem.question}"


def results_are_plausible(family: Family, problems: Sequence[Problem]) -> Iterator[str]:
    for problem in problems:
        for step in _numeric(problem):
            if not (is_workable(step.result.value) and SMALLEST < step.result.value < LARGEST):
                yield f"{_named(step)} is {format_value(step.result.value, step.result.unit)}: {problem.question}"


def slips_are_wrong(family: Family, problems: Sequence[Problem]) -> Iterator[str]:
    margin = max(CLOSEST, 2 * (family.file.tolerance or 0))
    for problem in problems:
        for step in _numeric(problem):
            begin, right = f"{step.result.symbol} = ", step.result.value
            for slip in step.slips:
                working, wrong = slip.working, slip.value
                if not (math.isfinite(wrong) and wrong and abs(wrong - right) > margin * abs(right)):
                    yield f"{working} is not wrong enough, where {right:g} is right: {problem.question}"
                if not working.startswith(begin):
                    yield f"{working!r} does not state {step.result.symbol}"


def slips_are_complete(family: Family, problems: Sequence[Problem]) -> Iterator[str]:
    # Every draw has the same strategies and units, but for misconceptions that happen to come to the right value.
    for step in _numeric(problems[0]):
        if len(step.slips) < FEWEST_SLIPS:
            yield f"{_named(step)} has only {len(step.slips)} slips"
        if not all(slip.because for slip in step.slips):
            yield f"{_named(step)} has a slip for which nobody could give a reason"
        if any(slip.unit != step.result.unit for slip in step.slips):
            yield f"{_named(step)} has slips in other units than {step.result.unit}"


def misconceptions_show(family: Family, problems: Sequence[Problem]) -> Iterator[str]:
    """Each misconception that the file names leads to a wrong value often, and every draw has one."""
    for place, known in enumerate(family.steps):
        named = [way.because for way in known.wrong_ways if way.because] if isinstance(known, WorkedStep) else []
        shown = Counter[str]()
        for problem in problems if named else ():
            texts = _board(family, problem).text
            said = {slip.because for slip in problem.steps[place].slips}
            found = [because for because in named if because.format_map(texts) in said]
            shown.update(found)
            if not found:
                yield f"no misconception shows: {problem.question}"
        for because in named:
            if shown[because] < TELLING * len(problems):
                yield f"{because!r} shows in only {shown[because]} of {len(problems)} draws"


def algebra_holds(family: Family, problems: Sequence[Problem]) -> Iterator[str]:
    """A line of algebra holds for the values that its letters have, and no wrong one is equivalent to it."""
    for problem in problems:
        for step in (step for step in problem.steps if step.kind == STEP_KIND_ALGEBRA):
            values, right = _board(family, problem).values, law(step.formula)
            if right and right.symbols <= values.keys() and not right.holds(values, ROUNDING):
                yield f"{step.formula!r} does not hold: {problem.question}"
    for problem in problems[:ENOUGH]:
        for step in (step for step in problem.steps if step.kind == STEP_KIND_ALGEBRA):
            for slip in step.slips:
                if are_equivalent(law(slip.working), law(step.formula)) is not False:
                    yield f"{slip.working!r} is not another equation than {step.formula!r}"


def units_agree(family: Family, problems: Sequence[Problem]) -> Iterator[str]:
    expressions = {step.outline.number: step.expression for step in family.steps if isinstance(step, WorkedStep)}
    for problem in problems[:ENOUGH]:
        for step in _numeric(problem):
            if family.bank in COUNTING and not _converts_measures(step):
                continue
            inputs = {own.symbol: (own.value, own.unit) for own in step.inputs}
            try:
                if step.kind == STEP_KIND_CONVERT and len(inputs) == 1:
                    value = convert(*next(iter(inputs.values())), step.result.unit)
                else:
                    value = calculate(expressions[step.number], inputs, step.result.unit)
            except UnitsDisagree as error:
                yield f"step {step.number}: {error}"
                continue
            if not math.isclose(value, step.result.value, rel_tol=FACTOR):
                yield (
                    f"step {step.number}: {step.expression} gives {value:.5g} {step.result.unit} when worked out with "
                    f"its units, not {step.result.value:.5g}"
                )


def laws_hold(family: Family, problems: Sequence[Problem]) -> Iterator[str]:
    """The law of the first step holds for the given and the calculated values."""
    if family.bank in COUNTING:
        return
    for known in _laws(family):
        for problem in problems[:ENOUGH]:
            values = _values(family, problem)
            if known.symbols - values.keys():
                yield f"{known.text!r} uses {sorted(known.symbols - values.keys())}, which is no quantity of the family"
            elif not known.holds(values, ROUNDING):
                yield f"{known.text!r} does not hold: {problem.question} {problem.solution}"


def rearrangements_solve_the_law(family: Family, problems: Sequence[Problem]) -> Iterator[str]:
    """A rearranged expression solves the law that an earlier step chose or that the step itself quotes."""
    if family.bank in COUNTING:
        return
    for step in family.steps:
        if not isinstance(step, WorkedStep) or step.outline.kind != STEP_KIND_REARRANGE:
            continue
        for known in (*_laws(family), *_quoted(step, family)):
            # `laws_hold` covers a step that yields an intermediate quantity.
            concerned = step.symbol in known.symbols and set(step.expression.symbols) <= known.symbols
            if concerned and not is_solved_by(known, step.symbol, step.expression):
                yield f"{step.expression.text!r} is not {known.text!r} solved for {step.symbol}"


def _converts_measures(step: Step) -> bool:
    units = [step.result.unit, *(own.unit for own in step.inputs)]
    return step.kind == STEP_KIND_CONVERT and all(unit(own).measure for own in units)


def _laws(family: Family) -> Sequence[Law]:
    stated = [step for step in family.steps if isinstance(step, StatedStep)]
    return [law(step.outline.formula) for step in stated if step.outline.kind == STEP_KIND_EQUATION]


def _quoted(step: WorkedStep, family: Family) -> Iterator[Law]:
    """Yields the laws in a step's texts: "Solve P = U × I for the current"."""
    symbols = _units(family).keys()
    for text in (step.table.ask, step.table.explanation):
        # A single letter is a quantity that cancels out.
        found = (law_between(*sides, symbols | set(LETTER.findall(text))) for sides in laws_in(text))
        yield from (known for known in found if known is not None)


def _values(family: Family, problem: Problem) -> Mapping[str, float]:
    """Returns the value of every symbol in base units."""
    units = _units(family)
    return {symbol: unit(units[symbol]).in_base(value) for symbol, value in _board(family, problem).values.items()}


def _board(family: Family, problem: Problem) -> Worksheet:
    return family.board(int(problem.source.rpartition("#")[2]))[1]


def _units(family: Family) -> Mapping[str, str]:
    stated = {symbol: row.unit for symbol, row in family.file.known.items()}
    return stated | {step.symbol: step.unit for step in family.steps if isinstance(step, WorkedStep)}


def _numeric(problem: Problem) -> Sequence[Step]:
    return [step for step in problem.steps if step.HasField("result")]


def _named(step: Step) -> str:
    return f"the {step.result.name} of step {step.number}"
