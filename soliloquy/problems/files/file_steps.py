"""The steps of a problem from a file, with the slips that rules derive."""

import re
from collections.abc import Sequence

from soliloquy.problems.files.step_questions import question_for
from soliloquy.problems.mistakes.causes import Names
from soliloquy.problems.mistakes.wrong_ways import RightWay, mistakes, wrong_ways
from soliloquy.truth.expressions import Expression, in_brackets, parse_expression
from soliloquy.truth.number_format import format_number
from soliloquy.v1 import conversation_pb2 as pb

# A formula of two operands, whose wrong forms can be derived without knowing its meaning.
PRODUCT = re.compile(r"(?P<result>\S+) = (?P<first>\S+) (?P<sign>[×·*/]) (?P<second>\S+)")


def file_step(
    *,
    number: int,
    explanation: str,
    ask: str = "",
    formula: str = "",
    kind: str | None = None,
    expression: Expression | None = None,
    inputs: Sequence[pb.Quantity] = (),
    result: pb.Quantity | None = None,
    wrong: Sequence[pb.Slip] | None = None,
) -> pb.Step:
    """Builds a step, which yields a number if it has a result; without `wrong` slips, rules derive them."""
    if wrong is None:
        wrong = _other_formulas(formula) if result is None else derived_slips(expression, inputs, result, number)
    if result is not None and expression is not None:
        formula = formula or f"{result.symbol} = {expression.formula}"
    usual = "equation" if result is None else "compute"
    return pb.Step(
        number=number,
        kind=f"STEP_KIND_{(kind or usual).upper()}",
        ask=ask or question_for(explanation, number=number, symbol=result.symbol if result is not None else ""),
        explanation=explanation,
        formula=formula,
        expression=expression.text if expression else "",
        inputs=inputs,
        result=result,
        slips=wrong,
    )


def derived_slips(
    expression: Expression | None,
    inputs: Sequence[pb.Quantity],
    result: pb.Quantity,
    number: int,
    language: str = "",
) -> list[pb.Slip]:
    """Derives mistakes from the expression, or from the number itself if there is none."""
    basis = expression or parse_expression(repr(result.value))
    values = {quantity.symbol: quantity.value for quantity in inputs}
    texts = {symbol: in_brackets(format_number(value)) for symbol, value in values.items()}
    ways = wrong_ways(basis, unit=result.unit)
    right = RightWay(basis, result.symbol, Names.of(inputs, result, language))
    return mistakes(ways, values, texts, right=right, value=result.value, pick=number)


def _other_formulas(formula: str) -> list[pb.Slip]:
    match = PRODUCT.fullmatch(formula)
    if match is None:
        return []
    result, first, sign, second = match.group("result", "first", "sign", "second")
    other = "×" if sign == "/" else "/"
    return [
        pb.Slip(strategy=pb.ERROR_STRATEGY_FORMULA, working=f"{result} = {first} {other} {second}"),
        pb.Slip(strategy=pb.ERROR_STRATEGY_REARRANGEMENT, working=f"{first} = {result} {sign} {second}"),
    ]
