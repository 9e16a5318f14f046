"""Plans a problem: asks for sub-questions with expected answers, checks them by rule and has them verified."""

import math
from collections import Counter
from collections.abc import Mapping
from functools import partial

from soliloquy.recipes.scaffold import plan_prompting
from soliloquy.recipes.scaffold.answers import PlanAnswer, PlanVerdict
from soliloquy.recipes.scaffold.labels_pb2 import EnrichmentLabels, Plan
from soliloquy.recipes.scaffold.plan_rules import POLICY, faults, refuted_words
from soliloquy.runtime.answers import Unreadable
from soliloquy.runtime.ask import Ask, Unusable
from soliloquy.truth.expressions import BadExpression, Unworkable, parse_expression
from soliloquy.truth.number_format import format_quantity
from soliloquy.v1.conversation_pb2 import Discarded, Enrichment, Problem, Step

# Reports only a few faults at once: a model that fixes them tends to fix the rest.
_MOST_FAULTS = 3
# The tolerance for results that are carried on rounded.
_ROUNDED = 0.01


async def enrich(problem: Problem, changed: Mapping[str, str], ask: Ask) -> Enrichment:
    """Returns a plan that passes all rules and the verifier, one that only the verifier refused, or why there is none.

    A plan that the verifier refused is marked with its reason.
    """
    if why := why_unplannable(problem):
        return Enrichment(plain_because=why, labels=_labels(Plan()))
    discarded = Counter[str]()
    plan = Plan()
    try:
        for _ in range(POLICY["plans"]["verified_at_most"]):
            plan = await _plan_by_rules(problem, changed, why, ask, discarded)
            verdict = await ask(plan_prompting.verifying(problem, plan, changed), PlanVerdict)
            refuted = (refuted_words(one.number, one.calculation, plan, problem) for one in verdict.worked)
            why = next(filter(None, refuted), "" if verdict.decision == "accept" else verdict.reason)
            if not why:
                break
            discarded["verifier"] += 1
            plan.refused_because = why
    except Unusable as unusable:
        why = str(unusable)
        plan.refused_because = plan.refused_because or (why if plan.questions else "")
    plan.discarded.extend(_discarded_counts(discarded))
    return Enrichment(plain_because="" if plan.questions else why, labels=_labels(plan), calls=ask.calls)


def _labels(plan: Plan) -> bytes:
    return EnrichmentLabels(plan=plan).SerializeToString()


async def _plan_by_rules(
    problem: Problem, changed: Mapping[str, str], refused_because: str, ask: Ask, discarded: Counter[str]
) -> Plan:
    """Returns the first plan that passes all rules; counts every other by the rule it breaks."""
    looked_at = Counter[str]()
    try:
        prompt = plan_prompting.planning(problem, changed, refused_because)
        return (await ask(prompt, PlanAnswer, partial(_check, problem=problem, looked_at=looked_at))).plan
    finally:
        discarded["unreadable"] += len(ask.calls[-1].raw) - looked_at.total()
        discarded.update({rule: count for rule, count in looked_at.items() if rule})


def _check(planned: PlanAnswer, problem: Problem, looked_at: Counter[str]) -> None:
    """Raises Unreadable with the faults that the model is to fix."""
    found = list(faults(planned.plan, problem))
    looked_at[found[0][0] if found else ""] += 1
    if found:
        raise Unreadable("; ".join(fault for _, fault in found[:_MOST_FAULTS]))


def _discarded_counts(discarded: Counter[str]) -> list[Discarded]:
    return [Discarded(because=because, samples=count) for because, count in sorted(discarded.items()) if count]


def why_unplannable(problem: Problem) -> str:
    """Returns why a problem cannot be planned; empty if it can."""
    if not problem.HasField("answer"):
        return "no answer: the problem has no number for one"
    if not problem.steps:
        return "no steps: the solution has none that a plan could follow"
    for step in problem.steps:
        if step.HasField("result") and not _is_so(step):
            return f"contradiction: step {step.number} of the solution does not come to {format_quantity(step.result)}"
    answer = problem.answer
    results = [step.result for step in problem.steps if step.HasField("result") and step.result.unit == answer.unit]
    if not any(math.isclose(one.value, answer.value, rel_tol=_ROUNDED) for one in results):
        return f"contradiction: no step of the solution comes to its answer, {format_quantity(problem.answer)}"
    return ""


def _is_so(step: Step) -> bool:
    """Whether the step's expression, if any, yields its result."""
    if not step.expression:
        return True
    try:
        value = parse_expression(step.expression).value({known.symbol: known.value for known in step.inputs})
    except (BadExpression, Unworkable):
        return False
    return math.isclose(value, step.result.value, rel_tol=_ROUNDED)
