"""Dry runs: what a plan would take and how large it gets, from earlier conversations or a rehearsal."""

import math
import tomllib
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from soliloquy.dataset.prompt_reuse import text_of, tokens_in
from soliloquy.problems.sources import ProblemSource
from soliloquy.recipes.recipe import find
from soliloquy.runs import forecast
from soliloquy.runs.forecast import Forecast, Taken, foretold, summarised
from soliloquy.runs.plan import Plan
from soliloquy.runs.rehearsal import Judged, NotPlayable, rehearsed
from soliloquy.v1.conversation_pb2 import Conversation
from soliloquy.v1.gateway_pb2 import ForecastBasis, Interval, RunForecast

if TYPE_CHECKING:
    from soliloquy_services.executor.handler import JobExecutor
    from soliloquy_services.gateway.planning import FormerRun


# The conversations of a pilot.
PILOT = 10
# The problems that the scripted model plays where no pilot is there.
_REHEARSED = 20


def first_prompts(conversation: Conversation) -> dict[str, str]:
    """Returns the first prompt of each state."""
    texts: dict[str, str] = {}
    for _, prompt in find(conversation.run.recipe).prompts(conversation):
        texts.setdefault(prompt.name, text_of(prompt))
    return texts


def forecast_from(former: "FormerRun", plan: Plan, source: ProblemSource) -> RunForecast:
    found = summarised(former.conversations)
    told = foretold(
        found, plan.conversations, plan.in_flight, plan.cost, together=former.in_flight, problems=source.count
    )
    message = as_message(told, found)
    message.basis, message.like = ForecastBasis.FORECAST_BASIS_FORMER_RUN, former.id
    message.prompts.update(first_prompts(former.first) if former.first else {})
    return message


async def rehearsed_forecast(plan: Plan, source: ProblemSource, sandbox: "JobExecutor | None") -> RunForecast:
    """Lets the scripted model play the plan's first problems, whatever models the plan has; raises NotPlayable."""
    if sandbox is None:
        raise NotPlayable("no sandbox is there for the scripted model's programs")
    judged = await rehearsed(plan, source, sandbox, _REHEARSED)
    accepted = [conversation for conversation, is_accepted in judged if is_accepted]
    if not accepted:
        raise NotPlayable("no conversation of the scripted model is accepted")
    found = forecast.played(_in_tokens(judged))
    told = foretold(found, plan.conversations, plan.in_flight, plan.cost, together=0, problems=source.count)
    message = as_message(told, found)
    message.basis = ForecastBasis.FORECAST_BASIS_REHEARSAL
    message.prompts.update(first_prompts(accepted[0]))
    # Another model takes another time, and its endpoint may have a cache.
    message.ClearField("seconds")
    message.ClearField("cached_tokens")
    return message


def _in_tokens(judged: Judged) -> Judged:
    """Estimates the tokens of scripted conversations: the scripted model itself counts words."""
    return [(_estimated(conversation), is_accepted) for conversation, is_accepted in judged]


def _estimated(conversation: Conversation) -> Conversation:
    texts = [text_of(prompt) for _, prompt in find(conversation.run.recipe).prompts(conversation)]
    a_word = sum(map(tokens_in, texts)) / max(1, sum(text.count(" ") + 1 for text in texts))
    turns = [*conversation.turns, *(turn for rewind in conversation.rewinds for turn in rewind.turns)]
    for call in [*conversation.problem.enrichment.calls, *(call for turn in turns for call in turn.calls)]:
        call.prompt_tokens = round(call.prompt_tokens * a_word)
        call.completion_tokens = sum(map(tokens_in, call.raw))
        # The plan's own endpoints answer the role.
        call.endpoint = ""
    return conversation


def as_message(told: Forecast, found: Sequence[Taken]) -> RunForecast:
    return RunForecast(
        problems=len(found),
        accepted=sum(one.accepted for one in found),
        calls=_interval(told.calls),
        prompt_tokens=_interval(told.read),
        cached_tokens=_interval(told.cached),
        completion_tokens=_interval(told.written),
        seconds=_interval(told.seconds),
        dollars=_interval(told.dollars) if told.dollars else None,
        unpriced=told.unpriced,
    )


def _interval(told: forecast.Interval) -> Interval:
    return Interval(expected=told.expected, low=told.low, high=told.high)


_FIGURES: dict[str, Any] = tomllib.loads(Path(__file__).with_name("sizing.toml").read_text("utf-8"))
CONVERSATION: dict[str, float] = _FIGURES["conversation"]
GPUS: dict[str, dict[str, Any]] = _FIGURES["gpu"]
_SECONDS_AN_HOUR = 3600


@dataclass(frozen=True, kw_only=True, slots=True)
class Part:
    name: str
    unit: str
    an_hour: float
    measured: str

    def units(self, an_hour: float) -> int:
        return math.ceil(an_hour / self.an_hour)


KAFKA_DAYS: int = _FIGURES["kafka"]["days"]
PARTS: Sequence[Part] = [Part(**part) for part in _FIGURES["part"]]


@dataclass(frozen=True, kw_only=True, slots=True)
class OnGpu:
    """The speed of one card at conversations with a model of so many thousand million parameters."""

    card: str
    parameters: float

    @property
    def reading_rate(self) -> float:
        return self._rate("reading_rate")

    @property
    def output_rate(self) -> float:
        return self._rate("output_rate")

    def _rate(self, name: str) -> float:
        """Tokens a second: each takes every parameter, so a model of twice the size is half as fast."""
        figures = GPUS[self.card]
        return float(figures[name] * figures["parameters"] / self.parameters)

    @property
    def reading_seconds(self) -> float:
        return CONVERSATION["input_tokens"] * CONVERSATION["uncached_share"] / self.reading_rate

    @property
    def writing_seconds(self) -> float:
        return CONVERSATION["output_tokens"] / self.output_rate

    @property
    def conversations_an_hour(self) -> float:
        return _SECONDS_AN_HOUR / (self.reading_seconds + self.writing_seconds)


@dataclass(frozen=True, kw_only=True, slots=True)
class Sizing:
    conversations: int
    gpus: int
    on_gpu: OnGpu

    @property
    def an_hour(self) -> float:
        return self.gpus * self.on_gpu.conversations_an_hour

    @property
    def hours(self) -> float:
        return self.conversations / self.an_hour

    @property
    def in_flight(self) -> int:
        return int(self.gpus * GPUS[self.on_gpu.card]["callers"])

    @property
    def kafka_gigabytes(self) -> float:
        """The disk of a replica when it holds the most: all conversations, or those of the days that it keeps."""
        kept = min(self.hours, 24 * KAFKA_DAYS)
        return float(kept * self.an_hour * CONVERSATION["kafka_megabytes"] / 1000)
