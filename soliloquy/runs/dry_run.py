"""Says before a run what it would take, and whether it fits: from earlier conversations, or from a rehearsal."""

import asyncio
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from soliloquy.dataset.prompt_reuse import text_of, tokens_in
from soliloquy.problems.sources import ProblemSource
from soliloquy.recipes.calls import calls_of
from soliloquy.recipes.recipe import find
from soliloquy.runs.assembly import conversation_handlers, next_event
from soliloquy.runs.forecast import CALLS, Taken, foretold, measured, played, summarised
from soliloquy.runs.model import ModelSettings, scripted_model
from soliloquy.runs.plan import Plan
from soliloquy.runtime.events import ConversationEvent
from soliloquy.runtime.failure import Failure, Refused
from soliloquy.runtime.model import Model
from soliloquy.runtime.model.faults import ModelFailed
from soliloquy.runtime.model.opening import client_for
from soliloquy.runtime.model.settings import Endpoint, described
from soliloquy.runtime.retry import Transient
from soliloquy.v1.conversation_pb2 import Conversation, Ending
from soliloquy.v1.events_pb2 import ConversationFinished, ConversationStarted, EnrichmentNeeded
from soliloquy.v1.gateway_pb2 import ForecastBasis, RunForecast
from soliloquy.v1.model_pb2 import Completion, GenerateRequest
from soliloquy.v1.runs_pb2 import RunRequest

if TYPE_CHECKING:
    from soliloquy_services.executor.handler import JobExecutor
    from soliloquy_services.executor.pool import SandboxPool
    from soliloquy_services.gateway.planning import FormerRun

# Conversations played at once: their programs share a few sandboxes.
_AT_ONCE = 8

# Conversations with whether they were accepted, ordered by problem and attempt.
Judged = Sequence[tuple[Conversation, bool]]


class NotPlayable(Failure):
    """The scripted model cannot play conversations of the plan."""


@dataclass(frozen=True, kw_only=True, slots=True)
class _Overheard:
    model: Model
    hear: Callable[[GenerateRequest], None]

    async def generate(self, request: GenerateRequest) -> Completion:
        self.hear(request)
        return await self.model.generate(request)


async def rehearsed(
    plan: Plan,
    source: ProblemSource,
    sandbox: "JobExecutor",
    problems: int,
    hear: Callable[[GenerateRequest], None] = lambda _: None,
) -> Judged:
    """Plays so many problems, each until it is accepted or given up; raises NotPlayable.

    `hear` gets each request to the model.
    """
    # The plan's own run: students and seeds are drawn as in its conversations, which makes these as long or as short.
    run = plan.run()
    if plan.language:
        raise NotPlayable(f"the scripted model cannot play them: it speaks English, not {plan.language}")
    model = scripted_model(ModelSettings(problems=[plan.problems], noise=plan.noise))
    handlers = conversation_handlers(_Overheard(model=model, hear=hear), sandbox)
    places = asyncio.Semaphore(_AT_ONCE)

    async def finished(event: ConversationEvent) -> Conversation:
        while not isinstance(event, ConversationFinished):
            event = await next_event(event, handlers)
        return event.conversation

    async def settled(ordinal: int) -> Judged:
        from soliloquy_services.curriculum.handler import attempt_at

        problem, found = source.problem(run.seed, ordinal), list[tuple[Conversation, bool]]()
        for attempt in range(run.max_attempts):
            first = attempt_at(problem, run=run, ordinal=ordinal, attempt=attempt)
            begins = EnrichmentNeeded if run.enrich and not attempt else ConversationStarted
            async with places:
                conversation = await finished(begins(conversation=first))
            is_accepted = not find(run.recipe).judge(conversation).faults
            found.append((conversation, is_accepted))
            if is_accepted or conversation.ending == Ending.ENDING_UNFIT:
                break
            problem = conversation.problem
        return found

    try:
        async with asyncio.TaskGroup() as group:
            tasks = [group.create_task(settled(ordinal)) for ordinal in range(problems)]
    except* (Failure, Refused, Transient, ModelFailed) as errors:
        raise NotPlayable(f"the scripted model cannot play them: {errors.exceptions[0]}") from errors
    return [one for task in tasks for one in task.result()]


def own_sandboxes() -> "SandboxPool":
    """Returns sandboxes of this process, which start and stop with the context."""
    from soliloquy_services.executor.policy import SandboxSettings
    from soliloquy_services.executor.pool import SandboxPool

    return SandboxPool(SandboxSettings())


# No prompt of a recipe comes near it, so it is not worth the second that a rehearsal takes.
_AMPLE_TOKENS = 16_384
# Encodings differ by so much from the estimate.
_SURE = 0.8


async def require_room(plan: Plan, source: ProblemSource) -> None:
    """Raises Failure if a model's context has no room for a prompt of a scripted conversation, and its answer."""
    asked = [(name, one) for name, one in plan.models.used.items() if one.engine != "scripted"]
    told = await asyncio.gather(*(_context_of(name, endpoint) for name, endpoint in asked))
    contexts = {name: tokens for (name, _), tokens in zip(asked, told, strict=True) if 0 < tokens < _AMPLE_TOKENS}
    if not contexts:
        return
    # It loads Arrow.
    from soliloquy.dataset.prompt_reuse import tokens_in

    longest = dict[tuple[str, str], int]()

    def hear(request: GenerateRequest) -> None:
        place = (request.role, request.prompt)
        longest[place] = max(longest.get(place, 0), sum(tokens_in(message.text) for message in request.messages))

    try:
        async with own_sandboxes() as sandbox:
            await rehearsed(plan, source, sandbox, 1, hear)
    except NotPlayable:
        # The prompts up to there have been heard.
        pass
    for (role, prompt), tokens in sorted(longest.items(), key=lambda item: -item[1]):
        for member in plan.models.roles.get(role, ()):
            settings = plan.models.for_prompt(member, prompt)
            context = contexts.get(settings.endpoint, 0)
            if context and _SURE * tokens + settings.max_tokens > context:
                raise Failure(
                    f"{described(settings.endpoint, plan.models.endpoints[settings.endpoint])} has a context of "
                    f"{context:,} tokens, but {prompt} has about {tokens:,} and its answer may have "
                    f"{settings.max_tokens:,}: serve it with more context, or give the role {role} another model"
                )


async def _context_of(name: str, endpoint: Endpoint) -> int:
    client = client_for(name, endpoint)
    try:
        return (await client.served()).context_tokens
    finally:
        await client.close()


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
