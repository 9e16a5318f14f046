"""The schema of a line of a problem file, and its writer."""

import json
import keyword
import math
import unicodedata
from collections.abc import Mapping
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, JsonValue, StringConstraints, model_validator

from soliloquy.problems.files.stated_results import stated_answer
from soliloquy.recipes.codes import word_of
from soliloquy.truth.ledger import programs_in
from soliloquy.truth.number_format import LARGEST, is_workable
from soliloquy.v1.conversation_pb2 import (
    PLAN_SOURCE_MODEL,
    PLAN_SOURCE_PROGRAM,
    PLAN_SOURCE_PROSE,
    PLAN_SOURCE_UNSPECIFIED,
    ErrorStrategy,
    Evidence,
    PlanSource,
    Problem,
    Quantity,
    Slip,
    Step,
    StepKind,
)


def _sensible(value: float) -> float:
    if not math.isfinite(value):
        raise ValueError("is not a finite number")
    if not is_workable(value):
        raise ValueError(f"{value:g} is beyond the range of {1 / LARGEST:g} to {LARGEST:g}")
    return value


def _identifier(symbol: str) -> str:
    normal = unicodedata.normalize("NFKC", symbol)
    if not normal.isidentifier() or keyword.iskeyword(normal) or normal == "math":
        raise ValueError(f"{symbol!r} cannot be used as a name in an expression")
    return normal


# The sources of steps that a row may name.
PLANS: Mapping[str, PlanSource] = {
    "stated": PLAN_SOURCE_UNSPECIFIED,
    "prose": PLAN_SOURCE_PROSE,
    "program": PLAN_SOURCE_PROGRAM,
    "model": PLAN_SOURCE_MODEL,
}
# Every event of a conversation carries its problem, and events have a maximum size.
LONGEST_TEXT = 20_000

Text = Annotated[str, StringConstraints(strip_whitespace=True, min_length=1, max_length=LONGEST_TEXT)]
Number = Annotated[float, AfterValidator(_sensible)]
Symbol = Annotated[str, AfterValidator(_identifier)]


class _Row(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)


class InputRow(_Row):
    symbol: Symbol
    name: str = ""
    value: Number
    unit: str = ""


class ResultRow(_Row):
    symbol: Symbol
    name: str = ""
    unit: str = ""
    value: Number | None = None


class SlipRow(_Row):
    # None for a misconception.
    strategy: Literal["formula", "rearrangement", "conversion", "arithmetic"] | None = None
    working: Text
    value: Number | None = None
    # None for the unit of the step's result.
    unit: str | None = None
    # The misconception behind it, as the student would say it.
    because: str = ""


class StepRow(_Row):
    kind: Literal["knowns", "equation", "rearrange", "convert", "compute", "concept", "algebra"] | None = None
    explanation: Text
    ask: str = ""
    formula: str = ""
    expression: str = ""
    inputs: list[InputRow] = []
    result: ResultRow | None = None
    # None if rules are to derive them.
    slips: list[SlipRow] | None = None


class AnswerRow(_Row):
    value: Number
    unit: str = ""

    @model_validator(mode="before")
    @classmethod
    def _written(cls, answer: object) -> object:
        """Also takes a bare number, and a text such as "2.5 m"."""
        if isinstance(answer, int | float) and not isinstance(answer, bool):
            return {"value": answer}
        stated = stated_answer(answer) if isinstance(answer, str) else None
        return {"value": stated[0], "unit": stated[1]} if stated else answer


class ProgramsRow(_Row):
    value: float
    agreeing: int = Field(ge=1)
    of: int = Field(ge=1)


class ProblemRow(_Row):
    question: Text
    # Says the answer in a row that has no solution; programs then give the steps.
    solution: Text
    # The solution once more, in numbered steps that explain it, and these steps without their calculations.
    detailed_solution: str = Field(default="", max_length=LONGEST_TEXT)
    outline: str = Field(default="", max_length=LONGEST_TEXT)
    id: Text | None = None
    topic: str = ""
    answer: AnswerRow | None = None
    # Smaller than the distance of every slip from the right value.
    tolerance: float = Field(default=0.01, gt=0, le=0.03)
    steps: Annotated[list[StepRow], Field(min_length=1)] | None = None
    # The value of most programs that a model wrote from the question alone; `problems verify` writes it.
    programs: ProgramsRow | None = None
    # The source of the steps, if not the row itself; without `steps` they are read in the solution.
    plan: Literal["stated", "prose", "program", "model"] = "stated"
    # Further columns of an imported problem; no conversation depends on them.
    extra: dict[str, JsonValue] = {}

    @model_validator(mode="before")
    @classmethod
    def _answered(cls, row: object) -> object:
        if not isinstance(row, dict) or row.get("solution") or row.get("answer") is None:
            return row
        answer = row["answer"]
        said = f"{answer.get('value')} {answer.get('unit', '')}".strip() if isinstance(answer, dict) else answer
        return {**row, "solution": f"The answer is {said}."}


def problem_line(problem: Problem, extra: Mapping[str, object]) -> str:
    """Returns the line of a problem file from which the same problem is read again."""
    row: dict[str, Any] = {
        "id": problem.id,
        "topic": problem.topic,
        "question": problem.question,
        "solution": problem.solution,
        "steps": [_step(step) for step in problem.steps],
        "extra": extra,
    }
    if problem.HasField("answer"):
        row["answer"] = {"value": problem.answer.value, "unit": problem.answer.unit}
        row["tolerance"] = problem.tolerance
    if problem.enrichment.detailed_solution:
        row |= {"detailed_solution": problem.enrichment.detailed_solution, "outline": problem.enrichment.outline}
    if plan := next((name for name, source in PLANS.items() if source and source == problem.plan), ""):
        row["plan"] = plan
    if programs := programs_in(problem.ledger):
        row["programs"] = programs_row(programs)
    return json.dumps(row, ensure_ascii=False, separators=(",", ":")) + "\n"


def programs_row(programs: Evidence) -> dict[str, Any]:
    return {"value": programs.value, "agreeing": programs.agreeing, "of": programs.programs}


def _step(step: Step) -> dict[str, Any]:
    row: dict[str, Any] = {"kind": word_of(StepKind, step.kind), "ask": step.ask, "explanation": step.explanation}
    if step.formula:
        row["formula"] = step.formula
    numeric = step.HasField("result")
    if numeric:
        row["expression"] = step.expression
        row["inputs"] = [_quantity(quantity) for quantity in step.inputs]
        row["result"] = _quantity(step.result)
    return {**row, "slips": [_slip(slip, numeric=numeric) for slip in step.slips]}


def _slip(slip: Slip, *, numeric: bool) -> dict[str, Any]:
    row: dict[str, Any] = {"strategy": word_of(ErrorStrategy, slip.strategy)} if slip.strategy else {}
    row["working"] = slip.working
    row |= {"because": slip.because} if slip.because else {}
    return {**row, "value": slip.value} if numeric else row


def _quantity(quantity: Quantity) -> dict[str, Any]:
    return {"symbol": quantity.symbol, "name": quantity.name, "value": quantity.value, "unit": quantity.unit}
