"""Finds out what an endpoint with OpenAI's API can do, and how it answers the prompts of a recipe."""

import asyncio
import json
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import AsyncExitStack
from copy import deepcopy
from dataclasses import dataclass, field, replace
from typing import Any

from google.protobuf.message import Message

from soliloquy.problems.sources import ProblemSource
from soliloquy.recipes.calls import calls_of
from soliloquy.runs.assembly import conversation_handlers
from soliloquy.runs.endpoint_facts import EndpointFacts, endpoint_facts
from soliloquy.runs.model import ModelSettings, scripted_model
from soliloquy.runs.plan import problems_of
from soliloquy.runs.rehearsal import own_sandboxes
from soliloquy.runtime.events import ConversationEvent
from soliloquy.runtime.failure import Failure
from soliloquy.runtime.handling import Handler
from soliloquy.runtime.model import Model
from soliloquy.runtime.model.dialects import dialect_of
from soliloquy.runtime.model.keys import key_of
from soliloquy.runtime.model.openai_client import OpenAIClient
from soliloquy.runtime.model.opening import open_models
from soliloquy.runtime.model.settings import Endpoint, Models
from soliloquy.runtime.model.settings_file import checked_endpoint, shipped_models
from soliloquy.standin.speakers import speakers_of
from soliloquy.v1.conversation_pb2 import Conversation, ModelCall
from soliloquy.v1.events_pb2 import ConversationFinished, EnrichmentNeeded
from soliloquy.v1.model_pb2 import Completion, GenerateRequest
from soliloquy.v1.runs_pb2 import Run

# Some prompts come only in some conversations, and some are asked by evaluations alone.
_MOST_CONVERSATIONS = 6
_MOST_TURNS = 20
# Three answers of a small machine.
_TRIAL_SECONDS = 600.0

MakeHandlers = Callable[[Model], Mapping[type[Message], Handler]]


@dataclass(frozen=True, kw_only=True, slots=True)
class PromptTrial:
    # The first is the prompt; the others ask again, most of them with the reason.
    requests: Sequence[GenerateRequest]
    # The raw answers, and how they were read.
    call: ModelCall

    @property
    def complaints(self) -> list[str]:
        """Returns what the model was told about answers that could not be used."""
        first, *others = self.requests
        return [request.messages[-1].text for request in others if len(request.messages) > len(first.messages)]


@dataclass(kw_only=True)
class _PromptRouter:
    """Answers the first call of one prompt with the model on trial, and all others with the scripted model."""

    scripted: Model
    on_trial: Model | None = None
    prompt: str = ""
    requests: list[GenerateRequest] = field(default_factory=list)
    # A recipe may sample one prompt many times at once, each time in a task of its own.
    _task: "asyncio.Task[Any] | None" = None

    async def generate(self, request: GenerateRequest) -> Completion:
        if self.on_trial and request.prompt == self.prompt:
            self._task = self._task or asyncio.current_task()
            if self._task is asyncio.current_task():
                self.requests.append(deepcopy(request))
                return await self.on_trial.generate(request)
        elif not self.on_trial:
            self.requests.append(request)
        return await self.scripted.generate(request)


async def prompt_trials(
    recipe: str, source: ProblemSource, *, scripted: Model, on_trial: Model, handlers: MakeHandlers
) -> AsyncIterator[PromptTrial]:
    """Yields a trial for each prompt that the scripted conversations meet."""
    open_prompts = set(speakers_of(recipe))
    for ordinal in range(_MOST_CONVERSATIONS):
        event: ConversationEvent = EnrichmentNeeded(conversation=_conversation(recipe, source, ordinal))
        while open_prompts and not isinstance(event, ConversationFinished):
            router = _PromptRouter(scripted=scripted)
            following = await _next(event, handlers(router))
            for prompt in dict.fromkeys(
                request.prompt for request in router.requests if request.prompt in open_prompts
            ):
                open_prompts.discard(prompt)
                yield await _trial(event, prompt, scripted, on_trial, handlers)
            event = following


async def _trial(
    event: ConversationEvent, prompt: str, scripted: Model, on_trial: Model, handlers: MakeHandlers
) -> PromptTrial:
    router = _PromptRouter(scripted=scripted, on_trial=on_trial, prompt=prompt)
    try:
        async with asyncio.timeout(_TRIAL_SECONDS):
            following = await _next(event, handlers(router))
    except TimeoutError:
        raise Failure(f"{prompt} was not answered within {_TRIAL_SECONDS:g} s") from None
    call, *_ = (call for call in calls_of(following.conversation) if call.prompt == prompt)
    return PromptTrial(requests=router.requests, call=call)


async def _next(event: ConversationEvent, handlers: Mapping[type[Message], Handler]) -> ConversationEvent:
    [following] = await handlers[type(event)](deepcopy(event))
    assert isinstance(following, ConversationEvent)
    return following


def _conversation(recipe: str, source: ProblemSource, ordinal: int) -> Conversation:
    run = Run(id="probe", recipe=recipe, max_turns=_MOST_TURNS, max_attempts=1, enrich=True)
    problem = source.problem(0, ordinal)
    if ordinal % 2:
        # Some prompts are asked only where nothing settles an answer.
        problem.ClearField("plan")
        problem.solution = ""
        for step in problem.steps:
            step.expression = ""
    return Conversation(id=f"probe-{ordinal}", run=run, ordinal=ordinal, problem=problem)


# The endpoint's name in the settings.
_NAME = "probed"


@dataclass(frozen=True, kw_only=True, slots=True)
class Probe:
    facts: EndpointFacts
    trials: Sequence[PromptTrial]
    # How the schema of each prompt was sent.
    forms: Mapping[str, str]
    # A file for --model-settings.
    settings: str


async def probe_endpoint(base_url: str, model: str, recipe: str, problems: str) -> Probe:
    """Raises Failure for an endpoint that does not answer."""
    endpoint = checked_endpoint({"engine": "openai", "base_url": base_url, "model": model}, "--base-url")
    models = shipped_models().only_at(endpoint)
    source, scripted = problems_of(problems, recipe), scripted_model(ModelSettings(problems=[problems]))
    client = OpenAIClient(_NAME, endpoint, key_of(endpoint, _NAME))
    async with AsyncExitStack() as stack:
        stack.push_async_callback(client.close)
        found = await endpoint_facts(client)
        pool = await stack.enter_async_context(own_sandboxes())
        on_trial = await stack.enter_async_context(open_models(models, lambda: scripted, None))
        tried = prompt_trials(
            recipe,
            source,
            scripted=scripted,
            on_trial=on_trial,
            handlers=lambda model: conversation_handlers(model, pool),
        )
        trials = [trial async for trial in tried]
        forms = {trial.call.prompt: client.attempt(trial.requests[0]).form.name for trial in trials}
    if found.dialect != dialect_of("", base_url, model).name:
        endpoint = replace(endpoint, dialect=found.dialect)
    return Probe(facts=found, trials=trials, forms=forms, settings=settings_of(endpoint, trials, models))


def settings_of(endpoint: Endpoint, trials: Sequence[PromptTrial], models: Models) -> str:
    """Returns a file for --model-settings, with more room for the roles whose answers were cut off."""
    doublings: dict[str, int] = {}
    for trial in trials:
        asked = max(request.extra_room for request in trial.requests)
        doublings[trial.call.role] = max(asked, doublings.get(trial.call.role, 0))
    told = {"engine": "openai", "base_url": endpoint.base_url, "model": endpoint.model}
    if endpoint.dialect:
        told["dialect"] = endpoint.dialect
    lines = [f"[endpoints.{_NAME}]", *(f"{name} = {json.dumps(value)}" for name, value in told.items())]
    for role, times in doublings.items():
        if times:
            lines += ["", f"[roles.{role}]", f"max_tokens = {models.roles[role][0].max_tokens << times}"]
    return "\n".join(lines) + "\n"
