"""The planner: samples solutions, chooses a confusion among them, and describes it."""

import asyncio
from collections.abc import Iterator, Mapping
from functools import partial

from soliloquy.recipes.mathdial import prompting
from soliloquy.recipes.mathdial.answers import ConfusionDescription, SampledSolution
from soliloquy.recipes.mathdial.confusion import (
    InDispute,
    NoConfusion,
    choose_confusion,
    labelled,
    lines,
    locate_error,
    sampling_refusal,
)
from soliloquy.recipes.mathdial.labels_pb2 import Confusion
from soliloquy.recipes.mathdial.mutation import mutated
from soliloquy.recipes.mathdial.policy import POLICY
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
    asks = list(_samplers(ask))
    prompt = prompting.enriching(problem, changed)
    sampled = await asyncio.gather(*(one(prompt, SampledSolution) for one in asks))
    for one in asks:
        ask.calls += one.calls
    try:
        confusion = choose_confusion([one.solution for one in sampled], problem)
    except InDispute:
        raise
    except NoConfusion as none:
        if (made := mutated(problem, none.confusion)) is None:
            raise
        return made
    check = partial(_check, confusion=confusion)
    try:
        described = await ask(prompting.describing(problem, confusion, changed), ConfusionDescription, check)
    except Unusable as unusable:
        undescribed = Confusion(samples=confusion.samples, discarded=confusion.discarded)
        raise NoConfusion(f"not described: {unusable}", undescribed) from unusable
    category, line = locate_error(confusion, problem) or (described.category, described.line)
    error = f"ERROR_CATEGORY_{category.upper()}"
    confusion.MergeFrom(Confusion(description=described.confusion, category=error, first_wrong_step=line))
    return confusion


def _samplers(ask: Ask) -> Iterator[Ask]:
    """Yields who solves the problem: each has its own seeds, and each group its own draw from the sampler's mixture."""
    samples, together = POLICY["confusion"]["samples"], POLICY["confusion"]["together"]
    for first in range(0, samples, together):
        group = range(first, min(first + together, samples))
        joined = JoinedRequests(ask.model, len(group))
        key = f"{ask.draw_key}/{first}"
        yield from (
            Ask(model=joined, role="sampler", origin=(*ask.origin, number), draw_key=key, problem=ask.problem)
            for number in group
        )


def _check(described: ConfusionDescription, confusion: Confusion) -> None:
    count = len(lines(confusion))
    if described.line > count:
        raise Unreadable(f'"First Wrong Line" is {described.line}, and the solution has {count} lines')
