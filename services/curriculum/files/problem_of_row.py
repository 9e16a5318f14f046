"""A problem from a line of a problem file: its steps worked out, its numbers checked against each other."""

import math
from collections.abc import Mapping

from soliloquy.v1 import conversation_pb2 as pb

from services.curriculum.files.file_steps import numeric_step, worded_step
from services.curriculum.files.problem_rows import AnswerRow, ProblemRow, ResultRow, StepRow
from services.curriculum.files.solution_text import steps_of
from services.curriculum.working.expressions import BadExpression, Expression, Unworkable, compiled
from services.curriculum.working.figures import is_workable, tidy, with_unit
from services.runtime.seeds import digest


class BadField(ValueError):
    """A field of a problem contradicts the others."""

    def __init__(self, field: str, reason: str) -> None:
        super().__init__(f"{field}: {reason}")


def problem_of(row: ProblemRow, *, source: str) -> pb.Problem:
    steps = steps_of(row.solution) if row.steps is None else _stated_steps(row)
    answer = _answer(row, steps)
    return pb.Problem(
        id=row.id or digest("problem", row.question, row.solution),
        topic=row.topic,
        question=row.question,
        solution=row.solution,
        steps=steps,
        answer=answer,
        tolerance=row.tolerance,
        source=source,
    )


def _stated_steps(row: ProblemRow) -> list[pb.Step]:
    steps: list[pb.Step] = []
    known: dict[str, pb.Quantity] = {}
    for number, stated in enumerate(row.steps or [], start=1):
        step = _stated_step(stated, number, known, row.tolerance)
        if step.HasField("result"):
            known[step.result.symbol] = step.result
        steps.append(step)
    return steps


def _stated_step(row: StepRow, number: int, known: Mapping[str, pb.Quantity], tolerance: float) -> pb.Step:
    field = f"steps.{number - 1}"
    if row.result is None:
        if row.expression:
            raise BadField(f"{field}.result", "is missing, but the step has an expression")
        return worded_step(number=number, ask=row.ask, explanation=row.explanation, formula=row.formula)
    given = {
        **known,
        **{i.symbol: pb.Quantity(symbol=i.symbol, name=i.name, value=i.value, unit=i.unit) for i in row.inputs},
    }
    expression, value = _worked(row, row.result, given, field, tolerance)
    symbols = expression.symbols if expression else [i.symbol for i in row.inputs]
    return numeric_step(
        number=number,
        ask=row.ask,
        explanation=row.explanation,
        formula=row.formula,
        expression=expression,
        inputs=[given[symbol] for symbol in symbols],
        result=pb.Quantity(symbol=row.result.symbol, name=row.result.name, value=value, unit=row.result.unit),
    )


def _worked(
    row: StepRow, result: ResultRow, given: Mapping[str, pb.Quantity], field: str, tolerance: float
) -> tuple[Expression | None, float]:
    """The expression of a step, if it has one, and the value of its result."""
    if not row.expression:
        if result.value is None:
            raise BadField(f"{field}.result.value", "is missing, and there is no expression to calculate it from")
        return None, result.value
    try:
        expression = compiled(row.expression)
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
    if result.value is None:
        return expression, tidy(value)
    if not _same(result.value, value, tolerance):
        raise BadField(f"{field}.result.value", f"is {result.value:g}, but {row.expression} gives {value:g}")
    return expression, result.value


def _answer(row: ProblemRow, steps: list[pb.Step]) -> pb.Quantity | None:
    """The result of the last step that yields a number; adds that step where prose leaves the answer out."""
    numeric = [step for step in steps if step.HasField("result")]
    if row.answer is None:
        return numeric[-1].result if numeric else None
    if numeric and _is_answer(numeric[-1].result, row.answer, row.tolerance):
        _set_unit(numeric[-1], row.answer.unit or numeric[-1].result.unit)
        return numeric[-1].result
    if numeric and row.steps is not None:
        stated = with_unit(row.answer.value, row.answer.unit)
        found = with_unit(numeric[-1].result.value, numeric[-1].result.unit)
        raise BadField("answer", f"is {stated}, but the last step that yields a number gives {found}")
    steps.append(
        numeric_step(
            number=len(steps) + 1,
            ask="What is the answer to the question, then?",
            explanation="State the answer to the question.",
            formula="",
            expression=None,
            inputs=[],
            result=pb.Quantity(symbol="answer", name="answer", value=row.answer.value, unit=row.answer.unit),
        )
    )
    return steps[-1].result


def _is_answer(result: pb.Quantity, answer: AnswerRow, tolerance: float) -> bool:
    return _same(answer.value, result.value, tolerance) and (result.unit in ("", answer.unit) or not answer.unit)


def _set_unit(step: pb.Step, unit: str) -> None:
    step.result.unit = unit
    for slip in step.slips:
        slip.unit = unit


def _same(stated: float, calculated: float, tolerance: float) -> bool:
    return math.isclose(stated, calculated, rel_tol=tolerance, abs_tol=1e-12)
