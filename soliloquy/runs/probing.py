"""Finds out what an endpoint with OpenAI's API can do, and how it answers the prompts of a recipe."""

import asyncio
import json
import time
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import AsyncExitStack
from copy import deepcopy
from dataclasses import dataclass, field, replace
from typing import Any, Literal

from google.protobuf.message import Message as AnyMessage

from soliloquy.problems.sources import ProblemSource
from soliloquy.recipes.calls import calls_of
from soliloquy.runs.assembly import conversation_handlers, next_event
from soliloquy.runs.dry_run import own_sandboxes
from soliloquy.runs.model import ModelSettings, scripted_model
from soliloquy.runs.plan import problems_of
from soliloquy.runtime.answers import Answer
from soliloquy.runtime.events import ConversationEvent
from soliloquy.runtime.failure import Failure
from soliloquy.runtime.handling import Handler
from soliloquy.runtime.model import ChunkReceiver, Model, ModelRefused, StreamListener
from soliloquy.runtime.model.dialects import dialect_of
from soliloquy.runtime.model.faults import RetryableFault
from soliloquy.runtime.model.keys import key_of
from soliloquy.runtime.model.openai_client import OpenAIClient
from soliloquy.runtime.model.opening import open_models
from soliloquy.runtime.model.samples import split, with_seeds
from soliloquy.runtime.model.settings import Endpoint, Models
from soliloquy.runtime.model.settings_file import checked_endpoint, shipped_models
from soliloquy.runtime.thoughts import parts_of
from soliloquy.standin.speakers import speakers_of
from soliloquy.truth.ledger import make_ledger
from soliloquy.v1.conversation_pb2 import Conversation, ModelCall
from soliloquy.v1.events_pb2 import ConversationFinished, EnrichmentNeeded
from soliloquy.v1.model_pb2 import Completion, GenerateRequest, Message, Sampling
from soliloquy.v1.runs_pb2 import Run

# A reasoning model thinks before it answers, and a small machine writes three tokens a second.
ANSWER_SECONDS = 120.0
_ANSWER_TOKENS = 300
# More than any model writes: most endpoints say what they allow instead.
_TOO_MANY_TOKENS = 1 << 24
# Endpoints keep prefixes of a thousand tokens and more.
_NUMBERS = 500
_PREFIX = f"Here are some numbers that nobody asks about: {' '.join(map(str, range(100, 100 + _NUMBERS)))}."
_QUESTION = "Invent a name for a small boat, and say in one sentence why it fits."


class _Boat(Answer):
    name: str
    reason: str


class _Ok(Answer):
    """An answer that ends soon: some servers finish what they have begun, although nobody waits for it."""

    ok: Literal["ok"]


@dataclass(frozen=True, kw_only=True, slots=True)
class EndpointFacts:
    """Each fact in a few words."""

    # The dialect in which it is asked.
    dialect: str
    # Some servers leave system messages out.
    system: str
    streaming: str
    reasoning: str
    seeds: str
    # Several answers to one request.
    n: str
    usage: str
    cached_tokens: str
    limits: str
    # Parameters that it refuses, so that requests go without them.
    refuses: Sequence[str]


@dataclass(kw_only=True)
class _Streamed:
    # Seconds after the request at which each piece came.
    pieces: list[float] = field(default_factory=list)

    def __call__(self, _: GenerateRequest) -> ChunkReceiver:
        began = time.monotonic()
        return lambda _: self.pieces.append(time.monotonic() - began)


async def endpoint_facts(client: OpenAIClient) -> EndpointFacts:
    """Raises Failure for an endpoint that does not answer."""
    first, again = [await _answer(client, _request(seed=1)) for _ in range(2)]
    other = await _answer(client, _request(seed=2))
    several = split(await _answer(client, with_seeds(_request(seed=3), [3, 4])))
    # Words of free text may wait until the model's thoughts are over, so it streams an answer with a schema.
    streamed = _Streamed()
    await _answer(client, _request(seed=1, schema=_Boat.json_schema()), streamed)
    attempt = client.attempt(_request(seed=1))
    return EndpointFacts(
        dialect=client.dialect.name,
        system=_system(first),
        streaming=_streaming(streamed, refused="stream" in attempt.without),
        reasoning=_reasoning([first, again, other]),
        seeds="refused" if "seed" in attempt.without else _seeds(first, again, other),
        n=_several(len(several), refused="n" in attempt.without),
        usage=_usage(again),
        cached_tokens=f"{again.cached_tokens} of {again.prompt_tokens}" if again.cached_tokens else "none seen",
        limits=await _limits(client),
        refuses=sorted(attempt.without - client.dialect.without),
    )


async def _answer(
    client: OpenAIClient, request: GenerateRequest, stream_listener: StreamListener | None = None
) -> Completion:
    try:
        async with asyncio.timeout(ANSWER_SECONDS):
            return await client.ask(request, ANSWER_SECONDS, stream_listener)
    except TimeoutError:
        raise Failure(f"{client.where} did not answer within {ANSWER_SECONDS:g} s") from None
    except RetryableFault as fault:
        raise Failure(f"{client.where} does not answer: {fault}") from fault


def _request(*, seed: int, schema: str = "", max_tokens: int = _ANSWER_TOKENS) -> GenerateRequest:
    return GenerateRequest(
        role="probe",
        messages=[Message(role="system", text=_PREFIX), Message(role="user", text=_QUESTION)],
        schema=schema,
        sampling=Sampling(temperature=1.0, top_p=1.0, max_tokens=max_tokens),
        seed=seed,
    )


def _system(completion: Completion) -> str:
    if not completion.prompt_tokens:
        return "unknown: tokens are not counted"
    # Each number of the prefix is a token or more.
    return "read" if completion.prompt_tokens > _NUMBERS else "left out: its template has no room for system messages"


def _streaming(streamed: _Streamed, *, refused: bool) -> str:
    if refused:
        return "refused"
    if len(streamed.pieces) < 2:
        return "the answer comes as a whole"
    return f"yes, {len(streamed.pieces)} pieces, the first after {streamed.pieces[0]:.1f} s"


def _reasoning(completions: Sequence[Completion]) -> str:
    tokens = max(completion.reasoning_tokens for completion in completions)
    counted = f", {tokens} tokens counted" if tokens else ", not counted"
    if any(completion.reasoning for completion in completions):
        return f"in a field of its own{counted}"
    if any(parts_of(completion.text).thoughts for completion in completions):
        return f"in the text{counted}"
    return f"hidden{counted}" if tokens else "none seen"


def _seeds(first: Completion, again: Completion, other: Completion) -> str:
    if first.text == again.text:
        return "honoured" if first.text != other.text else "unknown: every answer is the same"
    return "ignored"


def _several(answers: int, *, refused: bool) -> str:
    if answers > 1:
        return "yes: samples of one prompt are one request"
    return f"{'refused' if refused else 'ignored'}: samples of one prompt are asked for one after the other"


def _usage(completion: Completion) -> str:
    told = {"prompt": completion.prompt_tokens, "answer": completion.completion_tokens}
    counts = [f"{tokens} tokens of the {part}" for part, tokens in told.items() if tokens]
    cost = [f"{completion.cost:g} dollars"] if completion.cost else []
    return ", ".join(counts + cost) or "not counted"


async def _limits(client: OpenAIClient) -> str:
    """Returns the context that the list of models tells, else what the endpoint says about too long an answer."""
    if tokens := (await client.served()).context_tokens:
        return f"{tokens} tokens of context"
    question = _request(seed=3, schema=_Ok.json_schema(), max_tokens=_TOO_MANY_TOKENS)
    question.messages[-1].text = 'Reply with {"ok": "ok"} and nothing else.'
    try:
        await _answer(client, question)
    except ModelRefused as refused:
        return str(refused)
    except Failure:
        pass
    return "none told"


# Some prompts come only in some conversations, and some are asked by evaluations alone.
_MOST_CONVERSATIONS = 6
_MOST_TURNS = 20
# Three answers of a small machine.
_TRIAL_SECONDS = 600.0

MakeHandlers = Callable[[Model], Mapping[type[AnyMessage], Handler]]


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
            following = await next_event(event, handlers(router))
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
            following = await next_event(event, handlers(router))
    except TimeoutError:
        raise Failure(f"{prompt} was not answered within {_TRIAL_SECONDS:g} s") from None
    call, *_ = (call for call in calls_of(following.conversation) if call.prompt == prompt)
    return PromptTrial(requests=router.requests, call=call)


def _conversation(recipe: str, source: ProblemSource, ordinal: int) -> Conversation:
    run = Run(id="probe", recipe=recipe, max_turns=_MOST_TURNS, max_attempts=1, enrich=True)
    problem = source.problem(0, ordinal)
    # Some prompts are asked only where nothing settles an answer, and some where no step tells a mistake.
    if ordinal % 2:
        problem.ClearField("plan")
        problem.ledger.CopyFrom(make_ledger(problem))
        for entry in problem.ledger.entries:
            del entry.evidence[1:]
    elif ordinal:
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
