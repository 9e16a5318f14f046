"""Builds a problem from a row of a problem file: works out its steps and checks that its numbers agree."""

import math
from collections.abc import Mapping, Sequence

from soliloquy.problems.files.file_steps import file_step
from soliloquy.problems.files.languages import glossed_row, in_own_words
from soliloquy.problems.files.problem_row import PLANS, AnswerRow, ProblemRow, ResultRow, SlipRow, StepRow
from soliloquy.problems.files.prose_solution import steps_from_prose
from soliloquy.problems.files.step_questions import ENGLISH, ask_differently
from soliloquy.runtime.seeds import digest
from soliloquy.truth.calculations import Calculation, calculations_of
from soliloquy.truth.expressions import BadExpression, Expression, Unworkable, parse_expression
from soliloquy.truth.ledger import make_ledger
from soliloquy.truth.measured_values import has_three_digits, is_rounded
from soliloquy.truth.number_format import format_number, format_value, is_workable, tidy
from soliloquy.truth.quantities import quantities_in
from soliloquy.truth.result_units import asked_kinds, is_another, is_foreign_unit
from soliloquy.truth.sources import Provenance, provenance_of
from soliloquy.truth.unit_algebra import contradicts
from soliloquy.truth.units import unit
from soliloquy.truth.unknowns import solved_equations
from soliloquy.v1 import conversation_pb2 as pb

NOISE = 1e-12
# A number that is closer to a whole one has been calculated with rounded ones.
_CUT = 1e-3


class BadField(ValueError):
    """A field of a problem contradicts the other fields."""

    def __init__(self, field: str, reason: str) -> None:
        super().__init__(f"{field}: {reason}")
        self.field, self.reason = field, reason


def problem_from_row(row: ProblemRow, source: str, language: str = "") -> pb.Problem:
    """Raises BadField; the steps that are read in a text of another language have its words."""
    if language:
        return in_own_words(problem_from_row(glossed_row(row, language), source), row, language)
    _check_text(row)
    steps = steps_from_prose(_explained(row), row.question) if row.steps is None else _stated_steps(row)
    answer = _answer(row, steps)
    explained = pb.Enrichment(detailed_solution=row.detailed_solution, outline=row.outline)
    _check_sources(row, steps)
    problem = pb.Problem(
        id=problem_id(row),
        topic=row.topic,
        question=row.question,
        solution=row.solution,
        steps=steps,
        answer=answer,
        # No tolerance without a calculated number.
        tolerance=row.tolerance if any(step.HasField("result") for step in steps) else None,
        source=source,
        enrichment=explained if row.detailed_solution else None,
        plan=_plan(row),
    )
    if row.programs is not None:
        told = row.programs
        programs = pb.Evidence(
            kind=pb.EVIDENCE_KIND_PROGRAMS, value=told.value, agreeing=told.agreeing, programs=told.of
        )
        problem.ledger.CopyFrom(make_ledger(problem, programs))
    return problem


def _explained(row: ProblemRow) -> str:
    """Returns the solution that is worked through."""
    return row.detailed_solution or row.solution


def _plan(row: ProblemRow) -> pb.PlanSource:
    return PLANS["prose" if row.steps is None else row.plan]


def problem_id(row: ProblemRow) -> str:
    return row.id or digest("problem", row.question, row.solution)


def check_row(row: ProblemRow, language: str = "") -> Provenance:
    """Raises the errors of `problem_from_row` without deriving slips; returns the sources of its numbers."""
    row = glossed_row(row, language)
    _check_text(row)
    if row.steps is None and row.answer is not None:
        _answer(row, steps_from_prose(_explained(row)))
    steps = _stated_steps(row, derive_slips=False)
    results = [step.result for step in steps if step.HasField("result")]
    if results:
        _check_answer(row, results[-1])
    return _check_sources(row, steps)


def _check_sources(row: ProblemRow, steps: Sequence[pb.Step]) -> Provenance:
    """Raises BadField for the first number of the solution that contradicts where it comes from."""
    answer = pb.Quantity(value=row.answer.value, unit=row.answer.unit) if row.answer else None
    found = provenance_of(
        pb.Problem(question=row.question, solution=_explained(row), steps=steps, answer=answer, plan=_plan(row))
    )
    if found.faults:
        raise BadField("detailed_solution" if row.detailed_solution else "solution", found.faults[0])
    return found


def _check_text(row: ProblemRow) -> None:
    """Raises BadField for the first calculation of the solution, or of a step's explanation, that is false."""
    if row.answer is not None:
        _check_answer_unit(row.question, _explained(row), row.answer)
    texts = {"detailed_solution" if row.detailed_solution else "solution": _explained(row)}
    texts |= {f"steps.{number}.explanation": step.explanation for number, step in enumerate(row.steps or [])}
    for equation, value, holds in solved_equations(f"{row.question}\n{_explained(row)}"):
        if not holds:
            said, told = (" ".join(one.text.split()) for one in (equation, value))
            raise BadField(next(iter(texts)), f"{told!r} contradicts {said!r}")
    known = f"{row.question} {row.answer.unit if row.answer else ''}"
    for field, text in texts.items():
        for link in calculations_of(text):
            is_foreign = link.right and is_foreign_unit(link.unit, known, text[link.start : link.stated_at])
            if not link.right or is_foreign:
                line = text.count("\n", 0, link.start) + 1
                where = f"line {line}: " if "\n" in text else ""
                said = " ".join(link.text.split())
                raise BadField(field, f"{where}{said!r} is false: {_correction(link, is_foreign)}")


def _correction(link: Calculation, is_foreign: bool) -> str:
    """Says what a false calculation comes to."""
    if is_foreign:
        return f"the problem speaks of nothing that is measured in {link.unit}"
    if not link.wrong_unit:
        return f"it is {format_value(tidy(link.value), link.unit)}"
    number = "" if is_rounded(link.stated, link.value) else f"it is {format_number(tidy(link.value))}, and "
    return f"{number}its unit is not {link.wrong_unit}"


def _stated_steps(row: ProblemRow, *, derive_slips: bool = True) -> list[pb.Step]:
    steps: list[pb.Step] = []
    known: dict[str, pb.Quantity] = {}
    for number, stated in enumerate(row.steps or [], start=1):
        step = _stated_step(stated, number, known, row.tolerance, derive_slips=derive_slips)
        if step.HasField("result"):
            known[step.result.symbol] = step.result
        steps.append(step)
    ask_differently(steps, own={stated.ask for stated in row.steps or ()})
    return steps


def _stated_step(
    row: StepRow, number: int, known: Mapping[str, pb.Quantity], tolerance: float, *, derive_slips: bool
) -> pb.Step:
    field = f"steps.{number - 1}"
    expression = result = None
    own = {i.symbol: pb.Quantity(symbol=i.symbol, name=i.name, value=i.value, unit=i.unit) for i in row.inputs}
    inputs = list(own.values())
    if row.result is not None:
        given = {**known, **own}
        expression, value = _worked(row, row.result, given, field, tolerance)
        _check_slips(row, value, field, tolerance)
        inputs = [given[symbol] for symbol in (expression.symbols if expression else (i.symbol for i in row.inputs))]
        result = pb.Quantity(symbol=row.result.symbol, name=row.result.name, value=value, unit=row.result.unit)
    elif row.expression:
        raise BadField(f"{field}.result", "is required if the step has an expression")
    slips: list[pb.Slip] | None = None if derive_slips else []
    if row.slips is not None:
        slips = [_slip(slip, row.result.unit if row.result else "") for slip in row.slips]
    return file_step(
        number=number,
        kind=row.kind,
        ask=row.ask,
        explanation=row.explanation,
        formula=row.formula,
        expression=expression,
        inputs=inputs,
        result=result,
        wrong=slips,
    )


def _slip(row: SlipRow, own_unit: str) -> pb.Slip:
    return pb.Slip(
        strategy=f"ERROR_STRATEGY_{row.strategy.upper()}" if row.strategy else None,
        working=row.working,
        value=row.value,
        unit=own_unit if row.unit is None else row.unit,
        because=row.because,
    )


def _worked(
    row: StepRow, result: ResultRow, given: Mapping[str, pb.Quantity], field: str, tolerance: float
) -> tuple[Expression | None, float]:
    """Returns the expression of a step, if it has one, and the value of its result."""
    if not row.expression:
        if result.value is None:
            raise BadField(f"{field}.result.value", "is required if there is no expression")
        return None, result.value
    try:
        expression = parse_expression(row.expression)
    except BadExpression as error:
        raise BadField(f"{field}.expression", str(error)) from error
    unknown = sorted(set(expression.symbols) - given.keys())
    if unknown:
        raise BadField(f"{field}.expression", f"{unknown[0]} is neither an input nor the result of an earlier step")
    try:
        value = expression.value({symbol: quantity.value for symbol, quantity in given.items()})
    except Unworkable as error:
        raise BadField(f"{field}.expression", str(error)) from error
    if not is_workable(value):
        raise BadField(f"{field}.expression", f"{row.expression} gives {value:g}, which is out of range")
    # Earlier results may have been rounded before they were written down.
    rounded = any(has_three_digits(given[symbol].value) for symbol in expression.symbols)
    stated = tidy(value) if result.value is None else result.value
    if not is_rounded(stated, value) and not (rounded and _same(stated, value, tolerance)):
        raise BadField(f"{field}.result.value", f"is {stated:g}, but {row.expression} gives {value:g}")
    quantities = {symbol: (given[symbol].value, given[symbol].unit) for symbol in expression.symbols}
    # The stated value was compared above; rounded inputs say nothing of its unit.
    if contradicts(expression, quantities, value, result.unit):
        raise BadField(f"{field}.result.unit", f"{row.expression} does not give {format_value(stated, result.unit)}")
    return expression, stated


def _check_slips(row: StepRow, right: float, field: str, tolerance: float) -> None:
    for number, slip in enumerate(row.slips or []):
        if slip.value is None:
            raise BadField(f"{field}.slips.{number}.value", "is required if the step yields a number")
        if _same(slip.value, right, tolerance):
            raise BadField(f"{field}.slips.{number}.value", f"is {slip.value:g}, which is right")


def _answer(row: ProblemRow, steps: list[pb.Step]) -> pb.Quantity | None:
    """Returns the result of the last step that yields a number; adds that step if prose omits the answer."""
    numeric = [step for step in steps if step.HasField("result")]
    if row.answer is None:
        # An imported answer that is not a number stays text; the last number of the steps is something else.
        return numeric[-1].result if numeric and "answer" not in row.extra else None
    if numeric and _is_answer(numeric[-1].result, row.answer) and not _is_cut(numeric[-1].result, row.answer):
        last = numeric[-1]
        if _is_converted(last.result, row.answer):
            steps.append(_conversion(len(steps) + 1, last.result, row.answer))
            return steps[-1].result
        last.result.unit = row.answer.unit or last.result.unit
        for slip in last.slips:
            slip.unit = last.result.unit
        return last.result
    if numeric and (row.steps is not None or not _concludes(_explained(row), row.answer)):
        _check_answer(row, numeric[-1].result)
    steps.append(
        file_step(
            number=len(steps) + 1,
            ask=ENGLISH.asks_answer,
            explanation=ENGLISH.states_answer,
            result=pb.Quantity(symbol="answer", name="answer", value=row.answer.value, unit=row.answer.unit),
        )
    )
    return steps[-1].result


def _is_converted(result: pb.Quantity, answer: AnswerRow) -> bool:
    """Whether an answer has another number than the result that it is, because of its unit."""
    own, wanted = unit(result.unit), unit(answer.unit)
    return bool(own.measure and wanted.measure) and not math.isclose(wanted.of(result.value, own), result.value)


def _conversion(number: int, result: pb.Quantity, answer: AnswerRow) -> pb.Step:
    own, wanted = unit(result.unit), unit(answer.unit)
    # Temperatures are not multiplied.
    is_scaled = not own.offset and not wanted.offset
    factor = tidy(own.factor / wanted.factor)
    text = f"{result.symbol} * {factor:.15g}" if factor >= 1 else f"{result.symbol} / {tidy(1 / factor):.15g}"
    return file_step(
        number=number,
        ask=ENGLISH.converted.format(unit=answer.unit),
        explanation=f"{format_value(result.value, result.unit)} is {format_value(answer.value, answer.unit)}.",
        kind="convert",
        expression=parse_expression(text) if is_scaled else None,
        inputs=[result] if is_scaled else [],
        result=pb.Quantity(symbol="answer", name="answer", value=answer.value, unit=answer.unit),
    )


def _concludes(solution: str, answer: AnswerRow) -> bool:
    """Whether a solution gives the answer by its last calculation or behind it."""
    worked = [link for link in calculations_of(solution) if link.right]
    if not worked:
        return mentions(solution, answer)
    last = worked[-1]
    return _is_number(last.stated, answer) or mentions(solution[last.end :], answer)


def mentions(text: str, answer: AnswerRow) -> bool:
    return any(_is_number(one.value, answer) for one in quantities_in(text))


def _is_number(value: float, answer: AnswerRow) -> bool:
    return is_rounded(answer.value, value) or is_rounded(value, answer.value)


def _check_answer_unit(question: str, solution: str, answer: AnswerRow) -> None:
    """Raises BadField if the solution gives the answer's number, and only ever in units of another kind."""
    own = unit(answer.unit)
    if is_another(own, asked_kinds(question)):
        raise BadField("answer.unit", f"is {answer.unit}, but the question asks for another quantity")
    units = [one.unit for one in quantities_in(solution) if one.unit and is_rounded(one.value, answer.value)]
    is_known = own.measure or (answer.unit and not any(unit(word).measure for word in answer.unit.split()))
    if is_known and units and all(one.kind != own.kind for one in units):
        raise BadField("answer.unit", f"is {answer.unit}, but the solution gives {answer.value:g} in another unit")


def _check_answer(row: ProblemRow, result: pb.Quantity) -> None:
    if row.answer is not None and not _is_answer(result, row.answer):
        stated = format_value(row.answer.value, row.answer.unit)
        found = format_value(result.value, result.unit)
        raise BadField("answer", f"is {stated}, but the last step that yields a number gives {found}")


def _is_answer(result: pb.Quantity, answer: AnswerRow) -> bool:
    if result.unit in ("", answer.unit) or not answer.unit:
        return _is_number(result.value, answer)
    own, wanted = unit(result.unit), unit(answer.unit)
    if not own.measure and not wanted.measure:
        # Apples may be counted as fruit.
        return _is_number(result.value, answer)
    return own.kind == wanted.kind and _is_number(wanted.of(result.value, own), answer)


def _is_cut(result: pb.Quantity, answer: AnswerRow) -> bool:
    """Whether an answer counts what the result gives with a fraction: 14 whole pieces of 14.29."""
    own = unit(answer.unit or result.unit)
    return not own.measure and answer.value.is_integer() and not _same(result.value, answer.value, _CUT)


def _same(stated: float, calculated: float, tolerance: float) -> bool:
    # Compared with zero, the noise of a binary fraction counts as zero.
    noise = NOISE if 0 in (stated, calculated) else 0.0
    return math.isclose(stated, calculated, rel_tol=tolerance, abs_tol=noise)
