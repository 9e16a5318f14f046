"""The planner: sub-questions with expected answers that lead to a problem's solution, held to rules and verified."""

from collections import Counter
from functools import partial

from soliloquy.recipes.scaffold import plan_prompting
from soliloquy.recipes.scaffold.plan_answers import Planned, Verdict
from soliloquy.recipes.scaffold.plan_rules import POLICY, faults
from soliloquy.recipes.scaffold.plan_steps import refused
from soliloquy.runtime.answers import Unreadable
from soliloquy.runtime.ask import Ask, Unusable
from soliloquy.v1.conversation_pb2 import Discarded, Enrichment, Plan, Problem

# What a model is told at once; mending it, it sees to the others too.
_TOLD = 3


async def enrich(problem: Problem, ask: Ask) -> Enrichment:
    """A plan that keeps all rules and that the verifier takes; why there is none, where none came in so many tries."""
    if why := refused(problem):
        return Enrichment(plain_because=why, plan=Plan())
    discarded = Counter[str]()
    try:
        for _ in range(POLICY["plans"]["verified_at_most"]):
            plan = await _planned(problem, why, ask, discarded)
            verdict = await ask(plan_prompting.verifying(problem, plan), Verdict)
            if verdict.decision == "accept":
                plan.discarded.extend(_counted(discarded))
                return Enrichment(plan=plan, calls=ask.calls)
            discarded["verifier"] += 1
            why = verdict.reason
        why = f"verifier: none of {discarded['verifier']} plans was accepted: {why}"
    except Unusable as unusable:
        why = str(unusable)
    return Enrichment(plain_because=why, plan=Plan(discarded=_counted(discarded)), calls=ask.calls)


async def _planned(problem: Problem, refused_because: str, ask: Ask, discarded: Counter[str]) -> Plan:
    """The first plan that keeps all rules; every other is counted by the rule it breaks."""
    looked_at = Counter[str]()
    try:
        prompt = plan_prompting.planning(problem, refused_because)
        return (await ask(prompt, Planned, partial(_check, problem=problem, looked_at=looked_at))).plan
    finally:
        discarded["unreadable"] += len(ask.calls[-1].raw) - looked_at.total()
        discarded.update({rule: count for rule, count in looked_at.items() if rule})


def _check(planned: Planned, problem: Problem, looked_at: Counter[str]) -> None:
    """Raises Unreadable with what the model is to mend."""
    found = list(faults(planned.plan, problem))
    looked_at[found[0][0] if found else ""] += 1
    if found:
        raise Unreadable("; ".join(fault for _, fault in found[:_TOLD]))


def _counted(discarded: Counter[str]) -> list[Discarded]:
    return [Discarded(because=because, samples=count) for because, count in sorted(discarded.items()) if count]
