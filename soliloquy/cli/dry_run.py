"""`soliloquy generate --dry-run`: says what a run would take before it is begun."""

import asyncio
import json
from collections.abc import Mapping
from dataclasses import asdict

from soliloquy.cli.summary import print_forecast
from soliloquy.cli.terminal import echo
from soliloquy.problems.sources import ProblemSource
from soliloquy.runs.dry_run import as_message, first_prompts
from soliloquy.runs.forecast import Forecast, foretold, measured, played
from soliloquy.runs.plan import Plan
from soliloquy.runs.rehearsal import Judged, own_sandboxes, rehearsed
from soliloquy.runtime.failure import Failure

# The conversations of a pilot that are under way at once.
PILOT_IN_FLIGHT = 5
# The conversations that the scripted model plays, to say how long the pilot's are among others.
_REHEARSED = 200


def rehearse(plan: Plan, source: ProblemSource) -> Mapping[int, float]:
    """Returns how many calls the scripted model takes for each of the run's first problems; {} if it cannot play it."""

    async def judged() -> Judged:
        async with own_sandboxes() as sandbox:
            return await rehearsed(plan, source, sandbox, min(_REHEARSED, plan.conversations))

    try:
        return {one.ordinal: one.calls + one.enrichment.calls for one in played(asyncio.run(judged()))}
    except Failure:
        return {}


def foretell(
    plan: Plan, source: ProblemSource, like: str, *, together: int, as_json: bool, rehearsal: Mapping[int, float] = {}
) -> None:
    """Prints a forecast of the plan from a dataset of its recipe, and the prompts of that one's first conversation."""
    # It loads Arrow.
    from soliloquy.dataset.reading import Dataset

    dataset = Dataset(like)
    if dataset.recipe != plan.recipe:
        raise Failure(f"{like} holds conversations of the recipe {dataset.recipe}: choose another --like")
    found = measured(dataset)
    accepted = sum(one.accepted for one in found)
    if not accepted:
        raise Failure(f"{like} holds no accepted conversation, so it tells nothing of a run's length")
    forecast = foretold(
        found,
        plan.conversations,
        plan.in_flight,
        plan.cost,
        together=together,
        rehearsal=rehearsal,
        problems=source.count,
    )
    first = first_prompts(next(iter(dataset)))
    if as_json:
        told = {"problems": len(found), "accepted": accepted, **asdict(forecast)}
        echo(json.dumps({"forecast": told, "prompts": first}))
        return
    for name, text in first.items():
        echo(f"--- {name}\n{text}\n")
    print_forecast(as_message(forecast, found))
    echo(
        f"For {plan.conversations:,} conversations, {plan.in_flight} at once, from {accepted} accepted ones about "
        f"{len(found)} problems in {like}. Nine in ten draws of as many problems lie between the bounds."
    )
    if plan.budget.is_set:
        echo(_of_budget(plan, forecast))


def _of_budget(plan: Plan, forecast: Forecast) -> str:
    dollars = forecast.dollars.expected if forecast.dollars else 0.0
    tokens = forecast.read.expected + forecast.written.expected
    limits = [(plan.budget.dollars, dollars), (plan.budget.tokens, tokens)]
    share = min((limit / wanted for limit, wanted in limits if limit is not None and wanted), default=1.0)
    if share >= 1:
        return f"The budget of {plan.budget} is enough."
    return f"The budget of {plan.budget} is enough for about {share * plan.conversations:,.0f} conversations."
