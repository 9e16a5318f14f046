"""The steps of a family: a calculation worked with the drawn values, or what is said in words or as a law."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from soliloquy.v1 import conversation_pb2 as pb

from services.curriculum.bank.family_file import ConceptTable, StepTable
from services.curriculum.working.slips import STRATEGIES, mistakes
from services.curriculum.working.wrong_ways import WrongWays, wrong_ways
from services.truth.expressions import Expression, compiled, in_brackets
from services.truth.figures import before_unit, tidy, written

KINDS = {
    "equation": pb.STEP_KIND_EQUATION,
    "rearrange": pb.STEP_KIND_REARRANGE,
    "convert": pb.STEP_KIND_CONVERT,
    "compute": pb.STEP_KIND_COMPUTE,
    "concept": pb.STEP_KIND_CONCEPT,
}


@dataclass(frozen=True, kw_only=True, slots=True)
class Known:
    """What the board holds so far: grows with each step that yields a number."""

    # What the slots of a text are filled with.
    slots: dict[str, str] = field(default_factory=dict)
    values: dict[str, float] = field(default_factory=dict)
    # Each value as it stands in a written calculation.
    texts: dict[str, str] = field(default_factory=dict)


@dataclass(frozen=True, kw_only=True, slots=True)
class StatedStep:
    """A law that is chosen, or an idea in words: nothing is calculated."""

    # All of the step but its texts.
    outline: pb.Step
    ask: str
    explanation: str
    formula: str
    # What students say instead, with slots.
    wrong: Sequence[str]

    def take(self, step: pb.Step, known: Known, *, pick: int) -> str:
        """Fills in what the outline leaves open; the step's line of the solution."""
        explanation = self.explanation.format_map(known.slots)
        step.ask = self.ask.format_map(known.slots)
        step.explanation = explanation
        # Drawn without its slips, it has none to fill in.
        for slip, working in zip(step.slips, self.wrong, strict=False):
            slip.working = working.format_map(known.slots)
        line = f"Step {step.number}) {explanation}"
        return f"{line} {self.formula}." if self.formula else line


@dataclass(frozen=True, kw_only=True, slots=True)
class WorkedStep:
    # All of the step but its texts and numbers.
    outline: pb.Step
    ask: str
    explanation: str
    expression: Expression
    symbol: str
    unit: str
    wrong_ways: Sequence[WrongWays]

    def take(self, step: pb.Step, known: Known, *, pick: int) -> str:
        """Fills in what the outline leaves open; the step's line of the solution."""
        values, texts, expression = known.values, known.texts, self.expression
        explanation = self.explanation.format_map(known.slots)
        value = tidy(expression.value(values))
        step.ask = self.ask.format_map(known.slots)
        step.explanation = explanation
        for quantity, symbol in zip(step.inputs, expression.symbols, strict=True):
            quantity.value = values[symbol]
        step.result.value = value
        working = expression.working.format_map(texts)
        number = step.number
        # Drawn without its slips, it has none to fill in.
        if step.slips:
            found = mistakes(self.wrong_ways, values, texts, value=value, working=working, pick=pick + number)
            for slip, (wrong, mistaken) in zip(step.slips, found, strict=True):
                slip.working = f"{self.symbol} = {wrong}"
                slip.value = mistaken
        plain = written(value)
        values[self.symbol] = value
        texts[self.symbol] = in_brackets(plain)
        return f"Step {number}) {explanation} {self.symbol} = {working} = {before_unit(plain, self.unit)}."


def family_step(
    table: StepTable | ConceptTable, *, number: int, known: Mapping[str, pb.Quantity], converted: Mapping[str, str]
) -> StatedStep | WorkedStep:
    """A step as its table describes it; `converted` names what earlier steps converted, and from what."""
    outline = pb.Step(number=number, kind=KINDS[table.kind])
    if isinstance(table, ConceptTable):
        outline.slips.extend(pb.Slip() for _ in table.misconceptions)
        return StatedStep(
            outline=outline, ask=table.ask, explanation=table.explanation, formula="", wrong=table.misconceptions
        )
    if table.result is None:
        outline.formula = table.formula
        outline.slips.add(strategy=pb.ERROR_STRATEGY_FORMULA)
        outline.slips.add(strategy=pb.ERROR_STRATEGY_REARRANGEMENT)
        return StatedStep(
            outline=outline,
            ask=table.ask,
            explanation=table.explanation,
            formula=table.formula,
            wrong=[table.wrong["formula"], table.wrong["rearrangement"]],
        )
    expression = compiled(table.expression)
    outline.MergeFrom(
        pb.Step(
            formula=f"{table.result.symbol} = {expression.formula}",
            expression=expression.text,
            inputs=[known.get(symbol, pb.Quantity(symbol=symbol)) for symbol in expression.symbols],
            result=pb.Quantity(symbol=table.result.symbol, name=table.result.name, unit=table.result.unit),
            slips=[pb.Slip(strategy=strategy, unit=table.result.unit) for strategy in STRATEGIES],
        )
    )
    return WorkedStep(
        outline=outline,
        ask=table.ask,
        explanation=table.explanation,
        expression=expression,
        symbol=table.result.symbol,
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
