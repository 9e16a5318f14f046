"""The planner: samples solutions of a problem, chooses a wrong one, and describes it.

A model that does not err is asked for plausible mistakes; a mistake that the problem knows is the last resort.
"""

import asyncio
from collections.abc import Mapping, Sequence
from functools import partial

from soliloquy.recipes.mathdial import prompting
from soliloquy.recipes.mathdial.answers import (
    ConfusionDescription,
    PlausibleMistake,
    PlausibleMistakes,
    SampledSolution,
)
from soliloquy.recipes.mathdial.confusion import (
    InDispute,
    NoConfusion,
    choose_confusion,
    choose_mistake,
    labelled,
    lines,
    locate_error,
    sampling_refusal,
    wants_samples,
    why_unusable,
)
from soliloquy.recipes.mathdial.labels_pb2 import Confusion
from soliloquy.recipes.mathdial.policy import POLICY
from soliloquy.recipes.mathdial.worked_solutions import known_mistakes
from soliloquy.runtime.answers import Unreadable
from soliloquy.runtime.ask import Ask, Unusable
from soliloquy.runtime.model.samples import JoinedRequests
from soliloquy.v1.conversation_pb2 import Enrichment, Problem


async def enrich(problem: Problem, changed: Mapping[str, str], ask: Ask) -> Enrichment:
    """Returns the confusion of a problem, or the reason that there is none."""
    try:
        confusion = await _described_confusion(problem, changed, ask)
    except NoConfusion as none:
        return Enrichment(plain_because=str(none), labels=labelled(none.confusion), calls=ask.calls)
    return Enrichment(labels=labelled(confusion), calls=ask.calls)


async def _described_confusion(problem: Problem, changed: Mapping[str, str], ask: Ask) -> Confusion:
    if why := sampling_refusal(problem):
        raise NoConfusion(why, Confusion())
    solutions = await _sampled(problem, changed, ask)
    try:
        confusion = choose_confusion(solutions, problem)
    except InDispute:
        raise
    except NoConfusion as none:
        requested = choose_mistake(await _requested(problem, changed, ask), problem)
        known = None if requested else choose_mistake(known_mistakes(problem), problem)
        confusion = requested or known or Confusion()
        if not confusion.solution:
            raise
        confusion.MergeFrom(none.confusion)
        confusion.requested, confusion.mutated = requested is not None, known is not None
    check = partial(_check_description, confusion=confusion)
    try:
        described = await ask(prompting.describing(problem, confusion, changed), ConfusionDescription, check)
    except Unusable as unusable:
        if confusion.belief:
            # The pupil's own words take the place of a description.
            confusion.description = confusion.belief
            return confusion
        undescribed = Confusion(samples=confusion.samples, discarded=confusion.discarded)
        raise NoConfusion(f"not described: {unusable}", undescribed) from unusable
    category, line = locate_error(confusion, problem) or (described.category, described.line)
    error = f"ERROR_CATEGORY_{category.upper()}"
    belief = confusion.belief or described.belief
    told = Confusion(description=described.confusion, belief=belief, category=error, first_wrong_step=line)
    confusion.MergeFrom(told)
    return confusion


async def _sampled(problem: Problem, changed: Mapping[str, str], ask: Ask) -> Sequence[str]:
    """Returns as many solutions as it takes, each group from its own member of the sampler's mixture."""
    prompt, solutions = prompting.enriching(problem, changed), list[str]()
    while wants_samples(solutions, problem):
        first, together = len(solutions), POLICY["confusion"]["together"]
        joined, key = JoinedRequests(ask.model, together), f"{ask.draw_key}/{first}"
        asks = [
            Ask(model=joined, role="sampler", origin=(*ask.origin, number), draw_key=key, problem=ask.problem)
            for number in range(first, first + together)
        ]
        sampled = await asyncio.gather(*(one(prompt, SampledSolution) for one in asks))
        solutions += [one.solution for one in sampled]
        for one in asks:
            ask.calls += one.calls
    return solutions


async def _requested(problem: Problem, changed: Mapping[str, str], ask: Ask) -> Sequence[PlausibleMistake]:
    """Returns wrong solutions that the model writes as pupils would."""
    check = partial(_check_mistakes, problem=problem)
    try:
        return (await ask(prompting.mistaking(problem, changed), PlausibleMistakes, check)).mistakes
    except Unusable:
        return []


def _check_mistakes(asked: PlausibleMistakes, problem: Problem) -> None:
    because = [why_unusable(one.solution, problem) for one in asked.mistakes]
    if because and all(because):
        told = "; ".join(f"solution {number} is {why}" for number, why in enumerate(because, start=1))
        raise Unreadable(f"no solution is of use: {told}")


def _check_description(described: ConfusionDescription, confusion: Confusion) -> None:
    count = len(lines(confusion))
    if described.line > count:
        raise Unreadable(f'"First Wrong Line" is {described.line}, and the solution has {count} lines')
