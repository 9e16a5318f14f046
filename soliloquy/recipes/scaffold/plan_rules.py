"""Checks a plan before a verifier sees it: everything that can be calculated, counted or compared."""

import ast
import math
import re
from collections.abc import Iterator, Sequence
from itertools import combinations, pairwise
from typing import Any

from soliloquy.recipes.scaffold.expected_answers import (
    final_number,
    gives_law,
    gives_quantity,
    miscalculations,
    same_quantity,
)
from soliloquy.recipes.scaffold.labels_pb2 import Plan, SubQuestion
from soliloquy.recipes.scaffold.memory import glossed_plan
from soliloquy.recipes.scaffold.told_names import undefined_names
from soliloquy.runtime.files import table_beside
from soliloquy.texts.phrases import says
from soliloquy.texts.utterances import content_words
from soliloquy.truth.expressions import BadExpression, Expression, Unworkable, parse_expression
from soliloquy.truth.ledger import ledger_of
from soliloquy.truth.locales import glossed
from soliloquy.truth.measured_values import is_rounded
from soliloquy.truth.number_format import format_number, format_quantity
from soliloquy.truth.quantities import WrittenQuantity, quantities_in, values_in
from soliloquy.truth.units import unit_after
from soliloquy.v1.conversation_pb2 import Problem, Quantity, Step, StepKind

POLICY = table_beside(__file__, "plan_rules.toml")
_LIMITS = POLICY["plans"]
# The tolerances that an expected answer is compared with.
CLOSENESS: dict[str, Any] = {"tolerance": _LIMITS["tolerance"], "least_digits": _LIMITS["least_digits"]}
_SENTENCE = re.compile(r"(?<=[.!?:;])\s+")
_WORD = re.compile(r"\w+")
_HOW_MANY = re.compile(r"\bhow many\b", re.IGNORECASE)


def faults(plan: Plan, problem: Problem) -> Iterator[tuple[str, str]]:
    """Yields each broken rule with its evidence."""
    plan, problem = glossed_plan(plan, problem.language), glossed(problem)
    for rule in POLICY["rules"]:
        for found in _RULES[rule](plan, problem):
            yield rule, found


def undecided(plan: Plan, problem: Problem) -> list[int]:
    """Returns the numbers of the sub-questions whose expected answers are words, which no rule can verify."""
    plan, problem = glossed_plan(plan, problem.language), glossed(problem)
    return [number for number in range(1, len(plan.questions) + 1) if _is_right(number, plan, problem) is None]


def refuted_words(number: int, calculation: str, plan: Plan, problem: Problem) -> str:
    """Returns the fault of an expected answer in words that say this calculation; empty if none is certain.

    They are wrong if their value is none that the steps of the sub-question calculate, as a result or on the way to it.
    """
    if number not in undecided(plan, problem):
        return ""
    one = plan.questions[number - 1]
    steps = [problem.steps[at - 1] for at in one.steps]
    try:
        said = parse_expression(calculation)
        value = said.value({})
        known = [value for step in steps for value in _values_on_the_way(step)]
    except (BadExpression, Unworkable):
        return ""
    if not said.working or any(math.isclose(value, own, rel_tol=_LIMITS["tolerance"]) for own in known):
        return ""
    return (
        f"sub-question {number} expects {one.answer!r}, which is {said.text} = {format_number(value)}, "
        f"and {_comes_to(steps[-1])}"
    )


def _values_on_the_way(step: Step) -> Iterator[float]:
    """Yields the values of a step's calculation and of its parts; raises BadExpression for a step without one."""
    inputs = {known.symbol: known.value for known in step.inputs}
    for node in ast.walk(parse_expression(step.expression).tree):
        if isinstance(node, ast.BinOp | ast.Call):
            yield Expression(tree=node).value(inputs)


def is_worked_through(number: int, plan: Plan, problem: Problem) -> bool:
    """Whether an expected answer is what a step was calculated to be when the problem was read."""
    plan, problem = glossed_plan(plan, problem.language), glossed(problem)
    step = _step(plan.questions[number - 1], problem)
    worked = step is not None and (not step.HasField("result") or _is_settled(step.number, problem))
    return worked and _is_right(number, plan, problem) is True


def _is_settled(step: int, problem: Problem) -> bool:
    ledger = ledger_of(problem)
    entry = ledger.of_step(step)
    return entry is not None and ledger.is_settled(entry)


def _count(plan: Plan, problem: Problem) -> Iterator[str]:
    count, fewest, most = len(plan.questions), _LIMITS["fewest_questions"], _LIMITS["most_questions"]
    if not fewest <= count <= most:
        yield f"{count} sub-questions; {fewest} to {most} are wanted"


def _last(plan: Plan, problem: Problem) -> Iterator[str]:
    for one in plan.questions[-1:]:
        wanted = _wanted(problem)
        if not gives_quantity(one.answer, wanted, **CLOSENESS):
            yield f"the last answer is {one.answer!r}, and the problem's is {format_quantity(wanted)}"


def _order(plan: Plan, problem: Problem) -> Iterator[str]:
    known = len(problem.steps)
    for number, one in enumerate(plan.questions, start=1):
        strange = [step for step in one.steps if not 1 <= step <= known]
        if strange or not one.steps:
            yield f"sub-question {number} covers {strange or 'no step'}; the solution has the steps 1 to {known}"
    covered = [[*one.steps] for one in plan.questions if one.steps]
    # The inputs of two steps may be asked for before the result of both is.
    goes_back = any(after[0] < before[0] or after[-1] < before[-1] for before, after in pairwise(covered))
    if goes_back or any(steps != sorted(steps) for steps in covered):
        yield f"the steps come in the order {covered}; follow that of the solution"


def _uncovered(plan: Plan, problem: Problem) -> Iterator[str]:
    covered = {step for one in plan.questions for step in one.steps}
    for step in problem.steps:
        if step.number not in covered and step.kind != StepKind.STEP_KIND_KNOWNS and not _only_rounds(step, problem):
            yield f"no sub-question covers step {step.number}"
    for number, one in enumerate(plan.questions, start=1):
        last = _step(one, problem)
        if last is None or not last.HasField("result") or _goes_on(number, plan):
            continue
        if _is_right(number, plan, problem) is None:
            yield f"the answer to sub-question {number} holds no number, and {_comes_to(last)}"


def _only_rounds(step: Step, problem: Problem) -> bool:
    """Whether the last step states the result before it as a rounded answer: 91.67 % are 92 %."""
    before = [one.result.value for one in problem.steps[: step.number - 1] if one.HasField("result")]
    is_stated = step.number == len(problem.steps) and step.HasField("result") and not step.expression
    return is_stated and bool(before) and is_rounded(step.result.value, before[-1])


def _coarse(plan: Plan, problem: Problem) -> Iterator[str]:
    # Behind the last result a solution only comments on it.
    end = max((step.number for step in problem.steps if step.HasField("result")), default=len(problem.steps))
    for number, one in enumerate(plan.questions, start=1):
        if (count := sum(step <= end for step in set(one.steps))) > math.ceil(end / 2):
            yield f"sub-question {number} covers {count} of {end} steps; ask for less at a time"


def _contradiction(plan: Plan, problem: Problem) -> Iterator[str]:
    for number, one in enumerate(plan.questions, start=1):
        for calculation in miscalculations(one.answer):
            yield f"the answer to sub-question {number} says {calculation!r}, which does not come out"
        step = _step(one, problem)
        if step is not None and _is_right(number, plan, problem) is False:
            yield f"sub-question {number} expects {one.answer!r}, and {_comes_to(step)}"
    for (at, one), (other_at, other) in combinations(enumerate(plan.questions, start=1), 2):
        if _ask_the_same(one, other) and one.answer != other.answer:
            yield f"sub-questions {at} and {other_at} ask the same and expect {one.answer!r} and {other.answer!r}"


def _given_away(plan: Plan, problem: Problem) -> Iterator[str]:
    """A question reveals a number that neither the problem nor an earlier answer holds."""
    known = [*quantities_in(problem.question)]
    for number, one in enumerate(plan.questions, start=1):
        said = quantities_in(one.question)
        for later in plan.questions[number - 1 :]:
            hidden = final_number(later.answer)
            if hidden is None:
                if says(one.question, later.answer):
                    yield f"sub-question {number} says {later.answer!r}, which is asked for"
            elif _occurs(hidden, said) and not _occurs(hidden, known):
                yield f"sub-question {number} tells {later.answer!r}, which is asked for"
        known += quantities_in(one.answer)


def _code(plan: Plan, problem: Problem) -> Iterator[str]:
    said = ""
    for number, one in enumerate(plan.questions, start=1):
        said += f"{one.question}\n"
        if names := undefined_names(one.answer, problem, said):
            told = ", ".join(sorted(names))
            yield f"sub-question {number} expects {one.answer!r}, and nobody has said what {told} is: say it in words"
        said += f"{one.answer}\n"


def _unclear(plan: Plan, problem: Problem) -> Iterator[str]:
    for number, one in enumerate(plan.questions, start=1):
        words = _WORD.findall(one.question)
        if len(words) > _LIMITS["longest_question_words"]:
            yield f"sub-question {number} has {len(words)} words; {_LIMITS['longest_question_words']} are allowed"
        last = _WORD.findall(_SENTENCE.split(one.question.strip())[-1])
        if "?" not in one.question and (not last or last[0].lower() not in _LIMITS["requests"]):
            yield f"sub-question {number} asks nothing: {one.question!r}"
    for (at, one), (other_at, other) in combinations(enumerate(plan.questions, start=1), 2):
        if _ask_the_same(one, other):
            yield f"sub-questions {at} and {other_at} ask the same"


def _ask_the_same(one: SubQuestion, other: SubQuestion) -> bool:
    # One word changes what is asked for: "the red folder", "the green folder".
    return content_words(one.question) == content_words(other.question)


_RULES = {
    "count": _count,
    "last": _last,
    "order": _order,
    "uncovered": _uncovered,
    "coarse": _coarse,
    "contradiction": _contradiction,
    "given_away": _given_away,
    "code": _code,
    "unclear": _unclear,
}


def _is_right(number: int, plan: Plan, problem: Problem) -> bool | None:
    """Whether an expected answer is the result of its last step; None if no calculation tells."""
    one = plan.questions[number - 1]
    step = _step(one, problem)
    if step is None:
        return None
    right = gives_quantity(one.answer, step.result, **CLOSENESS) if step.HasField("result") else None
    if right is None:
        return gives_law(one.answer, step.formula)
    if not right and _goes_on(number, plan):
        # A sub-question may ask for the equation or the inputs before a later one asks for the result.
        inputs = (gives_quantity(one.answer, known, **CLOSENESS) for known in step.inputs)
        if gives_law(one.answer, step.formula) or any(inputs):
            return True
        # "Divide 48 by 2" says what is to be done.
        return None if _names_operands(one.answer, step) else False
    return right


def _wanted(problem: Problem) -> Quantity:
    """Returns the answer, in the unit that the question asks for where the solution has none: "How many kilometers"."""
    wanted = Quantity(value=problem.answer.value, unit=problem.answer.unit)
    if not wanted.unit and (asked := [*_HOW_MANY.finditer(problem.question)]):
        start = asked[-1].end()
        wanted.unit = problem.question[start : unit_after(problem.question, start)[1]].strip()
    return wanted


def _names_operands(answer: str, step: Step) -> bool:
    """Whether an answer holds no number but those that the step calculates with, and all of them."""
    if not step.expression:
        return False
    symbols = {known.symbol: known.value for known in step.inputs}
    expression = parse_expression(step.expression)
    operands = {*expression.numbers, *(symbols[symbol] for symbol in expression.symbols)}
    return values_in(answer) == operands


def _goes_on(number: int, plan: Plan) -> bool:
    """Whether a later sub-question covers the same step."""
    step = plan.questions[number - 1].steps[-1]
    return any(step in later.steps for later in plan.questions[number:])


def _step(one: SubQuestion, problem: Problem) -> Step | None:
    """Returns the last step of a sub-question; None if the solution has no such step."""
    number = one.steps[-1] if one.steps else 0
    return problem.steps[number - 1] if 1 <= number <= len(problem.steps) else None


def _comes_to(step: Step) -> str:
    return f"step {step.number} comes to {format_quantity(step.result) if step.HasField('result') else step.formula}"


def _occurs(number: WrittenQuantity, among: Sequence[WrittenQuantity]) -> bool:
    return any(same_quantity(number, one, _LIMITS["tolerance"]) for one in among)
