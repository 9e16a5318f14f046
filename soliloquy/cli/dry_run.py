"""`soliloquy generate --dry-run`: says what a run would take before it is begun."""

import json
from collections.abc import Mapping
from dataclasses import asdict, replace
from typing import TYPE_CHECKING

from soliloquy.cli.progress import duration
from soliloquy.cli.rehearsal import rehearsed
from soliloquy.cli.summary import cost_line
from soliloquy.cli.tables import table
from soliloquy.cli.terminal import echo, open_console
from soliloquy.dataset.prompt_reuse import text_of
from soliloquy.problems.sources import ProblemSource
from soliloquy.recipes.recipe import find
from soliloquy.runs.plan import Plan
from soliloquy.runtime.failure import Failure
from soliloquy.v1.conversation_pb2 import Conversation

if TYPE_CHECKING:
    from soliloquy.runs.forecast import Forecast, Interval

# The conversations of a pilot, and how many of them are under way at once.
PILOT = 10
PILOT_IN_FLIGHT = 5
# The conversations that the scripted model plays, to say how long the pilot's are among others.
_REHEARSED = 200


def rehearse(plan: Plan, source: ProblemSource) -> Mapping[int, float]:
    """Returns how many calls the scripted model takes for each of the run's first problems; {} if it cannot play it."""
    # It loads Arrow.
    from soliloquy.runs.forecast import measured

    try:
        with rehearsed(replace(plan, conversations=min(_REHEARSED, plan.conversations)), source) as dataset:
            return {one.ordinal: one.calls for one in measured(dataset)}
    except Failure:
        return {}


def foretell(plan: Plan, like: str, *, together: int, as_json: bool, rehearsal: Mapping[int, float] = {}) -> None:
    """Prints a forecast of the plan from a dataset of its recipe, and the prompts of that one's first conversation."""
    # They load Arrow.
    from soliloquy.dataset.reading import Dataset
    from soliloquy.runs.forecast import foretold, measured

    dataset = Dataset(like)
    if dataset.recipe != plan.recipe:
        raise Failure(f"{like} holds conversations of the recipe {dataset.recipe}: choose another --like")
    found = measured(dataset)
    accepted = sum(one.accepted for one in found)
    if not accepted:
        raise Failure(f"{like} holds no accepted conversation, so it tells nothing of a run's length")
    forecast = foretold(found, plan.conversations, plan.in_flight, plan.cost, together=together, rehearsal=rehearsal)
    first = _prompts(next(iter(dataset)))
    if as_json:
        told = {"problems": len(found), "accepted": accepted, **asdict(forecast)}
        echo(json.dumps({"forecast": told, "prompts": first}))
        return
    for name, text in first.items():
        echo(f"--- {name}\n{text}\n")
    _print(forecast)
    echo(
        f"For {plan.conversations:,} conversations, {plan.in_flight} at once, from {accepted} accepted ones about "
        f"{len(found)} problems in {like}. Nine in ten draws of as many problems lie between the bounds."
    )
    if plan.budget.is_set:
        echo(_of_budget(plan, forecast))


def _prompts(conversation: Conversation) -> dict[str, str]:
    """Returns the first prompt of each state."""
    texts: dict[str, str] = {}
    for _, prompt in find(conversation.run.recipe).prompts(conversation):
        texts.setdefault(prompt.name, text_of(prompt))
    return texts


def _print(forecast: "Forecast") -> None:
    shown = table("", "expected", "from", "to")
    counts = {
        "calls": forecast.calls,
        "tokens read": forecast.read,
        "  of them from a cache": forecast.cached,
        "tokens written": forecast.written,
    }
    for name, interval in counts.items():
        shown.add_row(name, *(f"{value:,.0f}" for value in _values(interval)))
    if forecast.dollars and forecast.dollars.expected:
        shown.add_row("USD", *(f"{value:,.4g}" for value in _values(forecast.dollars)))
    shown.add_row("time", *(duration(value) for value in _values(forecast.seconds)))
    open_console().print(shown)
    if forecast.unpriced:
        echo(f"cost: {cost_line(forecast.dollars.expected if forecast.dollars else None, forecast.unpriced)}")


def _values(interval: "Interval") -> tuple[float, float, float]:
    return interval.expected, interval.low, interval.high


def _of_budget(plan: Plan, forecast: "Forecast") -> str:
    dollars = forecast.dollars.expected if forecast.dollars else 0.0
    tokens = forecast.read.expected + forecast.written.expected
    limits = [(plan.budget.dollars, dollars), (plan.budget.tokens, tokens)]
    share = min((limit / wanted for limit, wanted in limits if limit is not None and wanted), default=1.0)
    if share >= 1:
        return f"The budget of {plan.budget} is enough."
    return f"The budget of {plan.budget} is enough for about {share * plan.conversations:,.0f} conversations."
