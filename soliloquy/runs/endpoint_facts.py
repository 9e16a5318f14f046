"""Finds out what an endpoint with OpenAI's API can do, by asking it."""

import asyncio
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Literal

from soliloquy.runtime.answers import Answer
from soliloquy.runtime.failure import Failure
from soliloquy.runtime.model import ChunkReceiver, ModelRefused, StreamListener
from soliloquy.runtime.model.faults import RetryableFault
from soliloquy.runtime.model.openai_client import OpenAIClient
from soliloquy.runtime.model.samples import split, with_seeds
from soliloquy.runtime.thoughts import parts_of
from soliloquy.v1.model_pb2 import Completion, GenerateRequest, Message, Sampling

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
