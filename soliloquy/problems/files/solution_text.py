"""Steps from a solution in prose, for problems whose file gives none."""

import re

from soliloquy.problems.files.file_steps import file_step
from soliloquy.problems.files.worked_text import calculation_in
from soliloquy.truth.expressions import parse_expression
from soliloquy.v1 import conversation_pb2 as pb

STEP_NUMBER = re.compile(r"(?:^|(?<=\s))(?:[Ss]tep\s+(\d+)\s*[).:-]|(\d+)[).](?=\s))\s*")
SENTENCE_END = re.compile(r"(?<=[.!?;])\s+(?=[^\s\d])")


def steps_of(solution: str) -> list[pb.Step]:
    return [_step(number, text) for number, text in enumerate(_pieces(solution), start=1)]


def _pieces(solution: str) -> list[str]:
    """The solution by its numbered steps, else by its lines, else by its sentences."""
    for pieces in (_numbered(solution), solution.splitlines(), SENTENCE_END.split(solution)):
        texts = [piece.strip() for piece in pieces if piece.strip()]
        if len(texts) > 1:
            return texts
    return [solution.strip()]


def _numbered(solution: str) -> list[str]:
    """The texts behind the numbers 1, 2, 3, ..; any other number belongs to a text."""
    cuts: list[tuple[int, int]] = []
    for match in STEP_NUMBER.finditer(solution):
        if int(match[1] or match[2]) == len(cuts) + 1:
            cuts.append(match.span())
    ends = [start for start, _ in cuts[1:]] + [len(solution)]
    return [solution[start:end] for (_, start), end in zip(cuts, ends, strict=False)]


def _step(number: int, text: str) -> pb.Step:
    calculated = calculation_in(text)
    if calculated is None:
        return file_step(number=number, explanation=text)
    symbol = calculated.symbol or f"x{number}"
    name = f"result of step {number}"
    return file_step(
        number=number,
        explanation=text,
        expression=parse_expression(calculated.expression) if calculated.expression else None,
        result=pb.Quantity(symbol=symbol, name=name, value=calculated.value, unit=calculated.unit),
    )
