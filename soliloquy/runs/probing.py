"""Finds out what an endpoint with OpenAI's API can do, and how it answers the prompts of a recipe."""

import asyncio
import json
import time
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field, replace
from typing import Any

from soliloquy.runs.assembly import conversation_handlers
from soliloquy.runs.model import ModelSettings, scripted_model
from soliloquy.runs.plan import problems_of
from soliloquy.runs.prompt_trials import PromptTrial, prompt_trials
from soliloquy.runtime.failure import Failure
from soliloquy.runtime.model import ChunkReceiver, ModelRefused, StreamListener
from soliloquy.runtime.model.dialects import dialect_of_owner
from soliloquy.runtime.model.faults import RetryableFault
from soliloquy.runtime.model.openai_client import OpenAIClient
from soliloquy.runtime.model.opening import open_models
from soliloquy.runtime.model.settings import Endpoint, Models, key_of
from soliloquy.runtime.model.settings_file import checked_endpoint, shipped_models
from soliloquy.runtime.thoughts import parts_of
from soliloquy.v1.model_pb2 import Completion, GenerateRequest, Message, Sampling

# The endpoint's name in the settings.
_NAME = "probed"
# A reasoning model thinks before it answers.
ANSWER_SECONDS = 30.0
_ANSWER_TOKENS = 300
# More than any model writes: most endpoints say what they allow instead.
_TOO_MANY_TOKENS = 1 << 24
# Endpoints keep prefixes of a thousand tokens and more.
_PREFIX = f"Here are some numbers that nobody asks about: {' '.join(map(str, range(100, 600)))}.\n\n"
_QUESTION = "Invent a name for a small boat, and say in one sentence why it fits."
# The fields in which lists of models tell how long a conversation may be.
_CONTEXT_FIELDS = ("max_model_len", "context_length", "context_window", "max_context_length", "inputTokenLimit")


@dataclass(frozen=True, kw_only=True, slots=True)
class EndpointFacts:
    """Each fact in a few words."""

    # The dialect in which it is asked.
    dialect: str
    streaming: str
    reasoning: str
    seeds: str
    usage: str
    cached_tokens: str
    limits: str
    # What it refuses, so that requests go without it.
    refuses: Sequence[str]


@dataclass(kw_only=True)
class _Streamed:
    # Seconds after the request at which each piece came.
    pieces: list[float] = field(default_factory=list)

    def __call__(self, _: GenerateRequest) -> ChunkReceiver:
        began = time.monotonic()
        return lambda _: self.pieces.append(time.monotonic() - began)


async def endpoint_facts(client: OpenAIClient, entry: Mapping[str, Any]) -> EndpointFacts:
    """`entry` is the model's in the endpoint's list. Raises Failure for an endpoint that does not answer."""
    streamed = _Streamed()
    first = await _answer(client, _request(seed=1), streamed)
    again = await _answer(client, _request(seed=1))
    other = await _answer(client, _request(seed=2))
    attempt = client.attempt(_request(seed=1))
    return EndpointFacts(
        dialect=client.dialect.name,
        streaming=_streaming(streamed, refused="stream" in attempt.without),
        reasoning=_reasoning([first, again, other]),
        seeds="refused" if "seed" in attempt.without else _seeds(first, again, other),
        usage=_usage(again),
        cached_tokens=f"{again.cached_tokens} of {again.prompt_tokens}" if again.cached_tokens else "none seen",
        limits=await _limits(client, entry),
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
    from services.executor.pool import SandboxPool
    from services.executor.settings import SandboxSettings

    endpoint, entry = await _recognized(
        checked_endpoint({"engine": "openai", "base_url": base_url, "model": model}, "--base-url")
    )
    models = shipped_models().only_at(endpoint)
    source, scripted = problems_of(problems, recipe), scripted_model(ModelSettings(problems=[problems]))
    pool = SandboxPool(SandboxSettings(sandboxes=1, spares=0))
    async with _client(endpoint) as client, AsyncExitStack() as stack:
        found = await endpoint_facts(client, entry)
        stack.push_async_callback(pool.stop)
        await pool.start()
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
    return Probe(facts=found, trials=trials, forms=forms, settings=settings_of(endpoint, trials, models))


async def _recognized(endpoint: Endpoint) -> tuple[Endpoint, Mapping[str, Any]]:
    """Returns the endpoint with the dialect that its list of models tells, and the model's entry in that list."""
    async with _client(endpoint) as client:
        listed = await client.listed()
    entry = next((each for each in listed if each["id"] == endpoint.model), {})
    return replace(endpoint, dialect=dialect_of_owner(str(entry.get("owned_by")))), entry


@asynccontextmanager
async def _client(endpoint: Endpoint) -> AsyncIterator[OpenAIClient]:
    client = OpenAIClient(_NAME, endpoint, key_of(endpoint, _NAME))
    try:
        yield client
    finally:
        await client.close()


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


def _request(*, seed: int, max_tokens: int = _ANSWER_TOKENS) -> GenerateRequest:
    return GenerateRequest(
        role="probe",
        messages=[Message(role="user", text=_PREFIX + _QUESTION)],
        sampling=Sampling(temperature=1.0, top_p=1.0, max_tokens=max_tokens),
        seed=seed,
    )


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


def _usage(completion: Completion) -> str:
    told = {"prompt": completion.prompt_tokens, "answer": completion.completion_tokens}
    return ", ".join(f"{tokens} tokens of the {part}" for part, tokens in told.items() if tokens) or "not counted"


async def _limits(client: OpenAIClient, entry: Mapping[str, Any]) -> str:
    """Returns the context that the list of models tells, else what the endpoint says about too long an answer."""
    if tokens := _context_tokens(entry):
        return f"{tokens} tokens of context"
    try:
        await _answer(client, _request(seed=3, max_tokens=_TOO_MANY_TOKENS))
    except ModelRefused as refused:
        return str(refused)
    except Failure:
        # It began a long answer.
        pass
    return "none told"


def _context_tokens(listed: Mapping[str, Any]) -> int:
    return max((tokens for name in _CONTEXT_FIELDS if isinstance(tokens := listed.get(name), int)), default=0)
