"""Tries each prompt of a recipe on a model, in the course of scripted conversations."""

import asyncio
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from copy import deepcopy
from dataclasses import dataclass, field
from typing import Any

from google.protobuf.message import Message

from soliloquy.problems.sources import ProblemSource
from soliloquy.recipes.calls import calls_of
from soliloquy.runtime.events import ConversationEvent
from soliloquy.runtime.failure import Failure
from soliloquy.runtime.handling import Handler
from soliloquy.runtime.model import Model
from soliloquy.standin.speakers import speakers_of
from soliloquy.v1.conversation_pb2 import Conversation, ModelCall
from soliloquy.v1.events_pb2 import ConversationFinished, EnrichmentNeeded
from soliloquy.v1.model_pb2 import Completion, GenerateRequest
from soliloquy.v1.runs_pb2 import Run

# Some prompts come only in some conversations, and some are asked by evaluations alone.
_MOST_CONVERSATIONS = 6
_MOST_TURNS = 20
_TRIAL_SECONDS = 180.0

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
    return Conversation(id=f"probe-{ordinal}", run=run, ordinal=ordinal, problem=source.problem(0, ordinal))
