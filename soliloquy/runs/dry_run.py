"""Dry runs: what a plan would take, from earlier conversations or a rehearsal."""

import asyncio
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from soliloquy.dataset.prompt_reuse import text_of, tokens_in
from soliloquy.problems.sources import ProblemSource
from soliloquy.recipes.calls import calls_of
from soliloquy.recipes.recipe import find
from soliloquy.runs.forecast import CALLS, Taken, foretold, measured, played, summarised
from soliloquy.runs.plan import Plan
from soliloquy.runs.rehearsal import Judged, NotPlayable, own_sandboxes, rehearsed
from soliloquy.runtime.failure import Failure
from soliloquy.v1.conversation_pb2 import Conversation
from soliloquy.v1.gateway_pb2 import ForecastBasis, RunForecast
from soliloquy.v1.runs_pb2 import RunRequest

if TYPE_CHECKING:
    from soliloquy_services.executor.handler import JobExecutor
    from soliloquy_services.gateway.planning import FormerRun

# The conversations of a pilot.
PILOT = 10
# The conversations that the scripted model plays, to say how long the pilot's are among others.
_COMPARED = 200
# The problems that it plays where no pilot is there.
_REHEARSED = 20


def forecast_like(
    like: str, plan: Plan, source: ProblemSource, *, together: int, rehearsal: Mapping[int, float] = {}
) -> RunForecast:
    """Foretells the plan from a dataset of its recipe; raises Failure."""
    # It loads Arrow.
    from soliloquy.dataset.reading import Dataset

    dataset = Dataset(like)
    if dataset.recipe != plan.recipe:
        raise Failure(f"{like} holds conversations of the recipe {dataset.recipe}: choose another --like")
    found = measured(dataset)
    if not any(one.accepted for one in found):
        raise Failure(f"{like} holds no accepted conversation, so it tells nothing of a run's length")
    forecast = _foretold(found, plan, source, together, next(iter(dataset)), rehearsal)
    forecast.like = like
    names = ("recipe", "problems", "conversations", "seed", "in_flight", "max_turns", "max_attempts", "enrich")
    forecast.request.CopyFrom(RunRequest(**{name: getattr(plan, name) for name in names}))
    return forecast


def calls_of_first(plan: Plan, source: ProblemSource) -> Mapping[int, float]:
    """Returns how many calls the scripted model takes for each of the run's first problems; {} if it cannot play it."""

    async def judged() -> Judged:
        async with own_sandboxes() as sandbox:
            return await rehearsed(plan, source, sandbox, min(_COMPARED, plan.conversations))

    try:
        return {one.ordinal: one.use[CALLS] + one.enrichment[CALLS] for one in played(asyncio.run(judged()))}
    except Failure:
        return {}


def forecast_from(former: "FormerRun", plan: Plan, source: ProblemSource) -> RunForecast:
    forecast = _foretold(summarised(former.conversations), plan, source, former.in_flight, former.first)
    forecast.basis, forecast.like = ForecastBasis.FORECAST_BASIS_FORMER_RUN, former.id
    return forecast


async def rehearsed_forecast(plan: Plan, source: ProblemSource, sandbox: "JobExecutor | None") -> RunForecast:
    """Lets the scripted model play the plan's first problems, whatever models the plan has; raises NotPlayable."""
    if sandbox is None:
        raise NotPlayable("no sandbox is there for the scripted model's programs")
    judged = await rehearsed(plan, source, sandbox, _REHEARSED)
    accepted = [conversation for conversation, is_accepted in judged if is_accepted]
    if not accepted:
        raise NotPlayable("no conversation of the scripted model is accepted")
    found = played((_in_tokens(conversation), is_accepted) for conversation, is_accepted in judged)
    forecast = _foretold(found, plan, source, 0, accepted[0])
    forecast.basis = ForecastBasis.FORECAST_BASIS_REHEARSAL
    # Another model takes another time, and its endpoint may have a cache.
    forecast.ClearField("seconds")
    forecast.ClearField("cached_tokens")
    return forecast


def _foretold(
    found: Sequence[Taken],
    plan: Plan,
    source: ProblemSource,
    together: int,
    first: Conversation | None,
    rehearsal: Mapping[int, float] = {},
) -> RunForecast:
    """Adds the first prompt of each state, in the words of the first conversation."""
    forecast = foretold(
        found,
        plan.conversations,
        plan.in_flight,
        plan.cost,
        together=together,
        rehearsal=rehearsal,
        problems=source.count,
    )
    for _, prompt in find(first.run.recipe).prompts(first) if first else ():
        if prompt.name not in forecast.prompts:
            forecast.prompts[prompt.name] = text_of(prompt)
    return forecast


def _in_tokens(conversation: Conversation) -> Conversation:
    """Estimates the tokens of a scripted conversation: the scripted model itself counts words."""
    texts = [text_of(prompt) for _, prompt in find(conversation.run.recipe).prompts(conversation)]
    a_word = sum(map(tokens_in, texts)) / max(1, sum(text.count(" ") + 1 for text in texts))
    for call in calls_of(conversation):
        call.prompt_tokens = round(call.prompt_tokens * a_word)
        call.completion_tokens = sum(map(tokens_in, call.raw))
        # The plan's own endpoints answer the role.
        call.endpoint = ""
    return conversation
