"""The steps of a family: a law that is chosen in words, or a calculation worked with the drawn values."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from soliloquy.v1 import conversation_pb2 as pb

from services.curriculum.bank.family_file import StepTable
from services.curriculum.working.expressions import Expression, compiled, in_working
from services.curriculum.working.figures import tidy, with_unit
from services.curriculum.working.slips import slips
from services.curriculum.working.wrong_ways import WrongWays, wrong_ways

KINDS = {
    "equation": pb.STEP_KIND_EQUATION,
    "rearrange": pb.STEP_KIND_REARRANGE,
    "convert": pb.STEP_KIND_CONVERT,
    "compute": pb.STEP_KIND_COMPUTE,
}


@dataclass(frozen=True, kw_only=True, slots=True)
class Known:
    """What the board holds so far: grows with each step that yields a number."""

    quantities: dict[str, pb.Quantity] = field(default_factory=dict)
    values: dict[str, float] = field(default_factory=dict)
    # Each value as it stands in a written calculation.
    texts: dict[str, str] = field(default_factory=dict)

    def add(self, quantity: pb.Quantity, text: str) -> None:
        self.quantities[quantity.symbol] = quantity
        self.values[quantity.symbol] = quantity.value
        self.texts[quantity.symbol] = text


@dataclass(frozen=True, kw_only=True, slots=True)
class ChosenLaw:
    kind: pb.StepKind
    ask: str
    explanation: str
    formula: str
    slips: Sequence[pb.Slip]

    def taken(self, number: int, known: Known, slots: Mapping[str, str], *, pick: int) -> tuple[pb.Step, str]:
        """The step, and its line of the solution."""
        explanation = self.explanation.format_map(slots)
        step = pb.Step(
            number=number,
            kind=self.kind,
            ask=self.ask.format_map(slots),
            explanation=explanation,
            formula=self.formula,
            slips=self.slips,
        )
        return step, f"Step {number}) {explanation} {self.formula}."


@dataclass(frozen=True, kw_only=True, slots=True)
class WorkedStep:
    kind: pb.StepKind
    ask: str
    explanation: str
    formula: str
    expression: Expression
    symbol: str
    name: str
    unit: str
    wrong_ways: Sequence[WrongWays]

    def taken(self, number: int, known: Known, slots: Mapping[str, str], *, pick: int) -> tuple[pb.Step, str]:
        """The step, and its line of the solution."""
        explanation = self.explanation.format_map(slots)
        value = tidy(self.expression.value(known.values))
        result = pb.Quantity(symbol=self.symbol, name=self.name, value=value, unit=self.unit)
        step = pb.Step(
            number=number,
            kind=self.kind,
            ask=self.ask.format_map(slots),
            explanation=explanation,
            formula=self.formula,
            expression=self.expression.text,
            inputs=[known.quantities[symbol] for symbol in self.expression.symbols],
            result=result,
            slips=slips(self.wrong_ways, self.expression, known.values, known.texts, result=result, pick=pick + number),
        )
        numbers = self.expression.template.format_map(known.texts)
        known.add(result, in_working(value))
        return step, f"Step {number}) {explanation} {self.formula} = {numbers} = {with_unit(value, self.unit)}."


def family_step(table: StepTable, converted: Mapping[str, str]) -> ChosenLaw | WorkedStep:
    """A step as its table describes it; `converted` names what earlier steps converted, and from what."""
    kind = KINDS[table.kind]
    if table.result is None:
        return ChosenLaw(
            kind=kind,
            ask=table.ask,
            explanation=table.explanation,
            formula=table.formula,
            slips=[
                pb.Slip(strategy=pb.ERROR_STRATEGY_FORMULA, working=table.wrong["formula"]),
                pb.Slip(strategy=pb.ERROR_STRATEGY_REARRANGEMENT, working=table.wrong["rearrangement"]),
            ],
        )
    expression = compiled(table.expression)
    return WorkedStep(
        kind=kind,
        ask=table.ask,
        explanation=table.explanation,
        formula=f"{table.result.symbol} = {expression.formula}",
        expression=expression,
        symbol=table.result.symbol,
        name=table.result.name,
        unit=table.result.unit,
        wrong_ways=[
            WrongWays(strategy=way.strategy, candidates=tuple(way.candidates))
            for way in wrong_ways(
                expression,
                unit=table.result.unit,
                converts=table.kind == "convert",
                converted={symbol: converted[symbol] for symbol in expression.symbols if symbol in converted},
                stated=table.wrong,
            )
        ],
    )
