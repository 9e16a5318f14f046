"""The steps of a family: calculations with the drawn values, or statements in words or as a law."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache

from soliloquy.problems.bank.family_file import ConceptTable, FamilyFile, StepTable
from soliloquy.problems.mistakes.causes import Names
from soliloquy.problems.mistakes.wrong_ways import STRATEGIES, RightWay, WrongWay, mistakes, wrong_ways
from soliloquy.truth.expressions import Expression, in_brackets, parse_expression
from soliloquy.truth.number_format import format_number, tidy, with_unit
from soliloquy.v1 import conversation_pb2 as pb


@dataclass(frozen=True, kw_only=True, slots=True)
class Worksheet:
    """The drawn words and values of a problem, and the results of the steps worked so far."""

    # The contents of the slots of a text: "5 kg", "hammer".
    text: dict[str, str] = field(default_factory=dict)
    values: dict[str, float] = field(default_factory=dict)
    # Each value as written in a calculation.
    working: dict[str, str] = field(default_factory=dict)
    # The mistakes at each step that yields a number, by the step's number.
    slips: dict[int, Sequence[pb.Slip]] = field(default_factory=dict)

    def write(self, symbol: str, value: float, unit: str) -> None:
        self.values[symbol] = value
        self.text[symbol], self.working[symbol] = _shown(value, unit)


# Constants and the values of small ranges recur often.
@lru_cache(8192)
def _shown(value: float, unit: str) -> tuple[str, str]:
    plain = format_number(value)
    return with_unit(plain, unit), in_brackets(plain)


@dataclass(frozen=True, kw_only=True, slots=True)
class StatedStep:
    """States an idea, a law or a line of algebra, and calculates nothing."""

    # The step without its texts.
    outline: pb.Step
    table: StepTable | ConceptTable

    def line(self, board: Worksheet) -> str:
        line = f"Step {self.outline.number}) {self.table.explanation.format_map(board.text)}"
        return f"{line} {self._formula(board)}." if self._formula(board) else line

    def fill(self, step: pb.Step, board: Worksheet) -> None:
        step.ask = self.table.ask.format_map(board.text)
        step.explanation = self.table.explanation.format_map(board.text)
        if isinstance(self.table, ConceptTable):
            step.slips.extend(pb.Slip(working=wrong.format_map(board.text)) for wrong in self.table.misconceptions)
            return
        step.formula = self._formula(board)
        step.slips.extend(
            pb.Slip(
                strategy=STRATEGIES[wrong.strategy],
                working=wrong.gives.format_map(board.working),
                because=wrong.because.format_map(board.text),
            )
            for wrong in self.table.wrong
        )

    def _formula(self, board: Worksheet) -> str:
        # A line of algebra has the drawn numbers in it, without their units.
        return self.table.formula.format_map(board.working) if isinstance(self.table, StepTable) else ""


@dataclass(frozen=True, kw_only=True, slots=True)
class WorkedStep:
    # The step without its texts and numbers.
    outline: pb.Step
    table: StepTable
    expression: Expression
    symbol: str
    unit: str
    wrong_ways: Sequence[WrongWay]
    right: RightWay

    def work(self, board: Worksheet, *, pick: int) -> None:
        """Writes the result and the mistakes to the worksheet; `pick` chooses among the slips of the pen."""
        value, number = tidy(self.expression.value(board.values)), self.outline.number
        board.slips[number] = mistakes(
            self.wrong_ways, board.values, board.working, right=self.right, value=value, pick=pick + number
        )
        board.write(self.symbol, value, self.unit)

    def line(self, board: Worksheet) -> str:
        working = self.expression.working.format_map(board.working)
        explanation = self.table.explanation.format_map(board.text)
        return f"Step {self.outline.number}) {explanation} {self.symbol} = {working} = {board.text[self.symbol]}."

    def fill(self, step: pb.Step, board: Worksheet) -> None:
        step.ask = self.table.ask.format_map(board.text)
        step.explanation = self.table.explanation.format_map(board.text)
        for quantity, symbol in zip(step.inputs, self.expression.symbols, strict=True):
            quantity.value = board.values[symbol]
        step.result.value = board.values[self.symbol]
        step.slips.extend(board.slips[self.outline.number])
        for slip in step.slips:
            slip.because = slip.because.format_map(board.text)


def family_steps(file: FamilyFile) -> Iterator[StatedStep | WorkedStep]:
    known = {symbol: pb.Quantity(symbol=symbol, name=row.name, unit=row.unit) for symbol, row in file.known.items()}
    # The results of conversions, and the symbols that they were converted from.
    converted: dict[str, str] = {}
    for number, table in enumerate(file.steps, start=1):
        step = _step(table, number, known, converted)
        if isinstance(step, WorkedStep):
            known[step.symbol] = step.outline.result
            if table.kind == "convert" and step.expression.symbols:
                converted[step.symbol] = step.expression.symbols[0]
        yield step


def _step(
    table: StepTable | ConceptTable, number: int, known: Mapping[str, pb.Quantity], converted: Mapping[str, str]
) -> StatedStep | WorkedStep:
    outline = pb.Step(number=number, kind=f"STEP_KIND_{table.kind.upper()}")
    if isinstance(table, ConceptTable):
        return StatedStep(outline=outline, table=table)
    if table.result is None:
        outline.formula = table.formula
        return StatedStep(outline=outline, table=table)
    expression = parse_expression(table.expression)
    outline.MergeFrom(
        pb.Step(
            formula=f"{table.result.symbol} = {expression.formula}",
            expression=expression.text,
            inputs=[known.get(symbol, pb.Quantity(symbol=symbol)) for symbol in expression.symbols],
            result=pb.Quantity(symbol=table.result.symbol, name=table.result.name, unit=table.result.unit),
        )
    )
    units = {known[symbol].unit for symbol in expression.symbols if symbol in known}
    ways = wrong_ways(
        expression,
        unit=table.result.unit,
        converts=table.kind == "convert",
        converted={symbol: converted[symbol] for symbol in expression.symbols if symbol in converted},
        others=[symbol for symbol, one in known.items() if one.unit in units and symbol not in expression.symbols],
        stated=[
            WrongWay(STRATEGIES[wrong.strategy], (parse_expression(wrong.gives),), wrong.because)
            for wrong in table.wrong
        ],
    )
    return WorkedStep(
        outline=outline,
        table=table,
        expression=expression,
        symbol=table.result.symbol,
        unit=table.result.unit,
        right=RightWay(
            expression, table.result.symbol, Names.of(known.values(), outline.result), table.kind == "convert"
        ),
        wrong_ways=[one for way in ways if (one := way._replace(candidates=tuple(way.candidates))).candidates],
    )
