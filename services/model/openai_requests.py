"""Requests of OpenAI's chat completions and completions as our own, and the responses of the latter."""

import itertools
import json
import time
import uuid
from collections.abc import Sequence
from typing import Any, Literal

from pydantic import BaseModel, Field

from soliloquy.runtime.completions import CommonChatRequest, CommonRequest, finish_reason, usage
from soliloquy.v1.model_pb2 import Completion, GenerateRequest, Message, Sampling, TokenLogprob
from soliloquy_services.model.engines.engine import MOST_LOGPROBS, InvalidRequest
from soliloquy_services.model.handler import MAX_SAMPLES

_ROLES = {"system": "system", "developer": "system", "user": "user", "assistant": "assistant"}
# As in OpenAI's API.
_MAX_TOKENS = 16


class _Schema(BaseModel):
    schema_: dict[str, Any] = Field(alias="schema")


class _Format(BaseModel):
    type: Literal["text", "json_object", "json_schema"]
    json_schema: _Schema | None = None

    def schema_text(self) -> str:
        match self.type:
            case "text":
                return ""
            case "json_object":
                return '{"type": "object"}'
            case _ if self.json_schema is None:
                raise InvalidRequest("response_format of type json_schema requires response_format.json_schema")
            case _:
                return json.dumps(self.json_schema.schema_)


class _SampledRequest(CommonRequest):
    """How an answer is sampled, in both APIs."""

    temperature: float | None = Field(default=None, ge=0, le=2)
    top_p: float | None = Field(default=None, gt=0, le=1)
    seed: int | None = Field(default=None, ge=-(2**63), lt=2**63)
    stop: str | list[str] | None = None

    def sampling(self, max_tokens: int, **logprobs: Any) -> Sampling:
        return Sampling(
            temperature=1.0 if self.temperature is None else self.temperature,
            top_p=1.0 if self.top_p is None else self.top_p,
            max_tokens=max_tokens,
            stop=self.stop if isinstance(self.stop, list) else filter(None, [self.stop]),
            **logprobs,
        )

    def seeds(self, number: int) -> list[int]:
        """Without a seed every answer is different, as OpenAI's clients expect."""
        seed = uuid.uuid4().int if self.seed is None else self.seed
        return [(seed + place) % 2**64 for place in range(number)]


class ChatRequest(_SampledRequest, CommonChatRequest):
    max_tokens: int | None = Field(default=None, ge=1, lt=2**31)
    max_completion_tokens: int | None = Field(default=None, ge=1, lt=2**31)
    n: int | None = Field(default=None, ge=1, le=MAX_SAMPLES)
    response_format: _Format | None = None
    logprobs: bool | None = None
    top_logprobs: int | None = Field(default=None, ge=0, le=MOST_LOGPROBS)
    # May hold "role" and "prompt", which OpenAI's requests lack.
    metadata: dict[str, str] | None = None

    def request(self, adapter: str, request_id: str) -> GenerateRequest:
        """Raises InvalidRequest if it uses a feature that is not supported."""
        if flaw := self.unsupported_option():
            raise InvalidRequest(flaw)
        samples = self.n or 1
        if samples > 1 and self.stream:
            raise InvalidRequest(f"n is {samples}, which is not supported with stream: leave one of them out")
        if self.logprobs and self.stream:
            raise InvalidRequest("logprobs is true, which is not supported with stream: leave one of them out")
        seed, *more_seeds = self.seeds(samples)
        metadata = self.metadata or {}
        return GenerateRequest(
            role=metadata.get("role", ""),
            prompt=metadata.get("prompt", ""),
            messages=[Message(role=_ROLES[message.role], text=message.text) for message in self.messages],
            schema=self.response_format.schema_text() if self.response_format else "",
            sampling=self.sampling(
                # 0 means up to the engine's limit.
                self.max_completion_tokens or self.max_tokens or 0,
                logprobs=bool(self.logprobs),
                top_logprobs=self.top_logprobs or 0,
            ),
            seed=seed,
            more_seeds=more_seeds,
            adapter=adapter,
            id=request_id,
        )


class CompletionRequest(_SampledRequest):
    """A request of the completions API, with which evaluation harnesses score texts: no chat template."""

    # One text or several, or their tokens.
    prompt: str | list[int] | list[str] | list[list[int]]
    max_tokens: int | None = Field(default=None, ge=0, lt=2**31)
    echo: bool | None = None
    logprobs: int | None = Field(default=None, ge=0, le=MOST_LOGPROBS)

    def requests(self, adapter: str, request_id: str) -> list[GenerateRequest]:
        """Returns one for each prompt; raises InvalidRequest if it uses a feature that is not supported."""
        if flaw := self.unsupported_option() or self._flaw():
            raise InvalidRequest(flaw)
        prompts = self._prompts()
        [seed] = self.seeds(1)
        sampling = self.sampling(
            # An engine computes a prompt for the sake of the token that follows.
            max(1, _MAX_TOKENS if self.max_tokens is None else self.max_tokens),
            logprobs=self.logprobs is not None,
            top_logprobs=self.logprobs or 0,
            prompt_logprobs=bool(self.echo),
        )
        return [
            GenerateRequest(
                raw_text=prompt if isinstance(prompt, str) else "",
                raw_tokens=() if isinstance(prompt, str) else prompt,
                sampling=sampling,
                seed=seed,
                adapter=adapter,
                id=f"{request_id}/{number}" if request_id else "",
            )
            for number, prompt in enumerate(prompts)
        ]

    def response(self, completions: Sequence[Completion]) -> dict[str, Any]:
        written = 0 if self.max_tokens == 0 else sum(each.completion_tokens for each in completions)
        return {
            "id": f"cmpl-{uuid.uuid4().hex}",
            "object": "text_completion",
            "created": int(time.time()),
            "model": self.model,
            "choices": [self._choice(number, completion) for number, completion in enumerate(completions)],
            "usage": usage(sum(each.prompt_tokens for each in completions), written),
        }

    def _flaw(self) -> str:
        if self.echo and self.logprobs is None:
            return "echo is true, which is not supported without logprobs: set logprobs, or leave echo out"
        if self.max_tokens == 0 and not self.echo:
            return "max_tokens is 0, which leaves nothing to answer: set echo and logprobs to have the prompt scored"
        return ""

    def _prompts(self) -> list[str | list[int]]:
        match self.prompt:
            case str() as text:
                prompts: Any = [text]
            case [int(), *_] as tokens:
                prompts = [tokens]
            case several:
                prompts = several
        if not prompts or not all(prompts):
            raise InvalidRequest("prompt is empty: send a text, or at least one token")
        if len(prompts) > MAX_SAMPLES:
            raise InvalidRequest(f"prompt has {len(prompts)} texts, above the limit of {MAX_SAMPLES}")
        found: list[str | list[int]] = prompts
        return found

    def _choice(self, number: int, completion: Completion) -> dict[str, Any]:
        unwanted = self.max_tokens == 0
        echoed = list(completion.prompt_logprobs)
        written = [] if unwanted else completion.logprobs
        prompt = self._prompts()[number]
        begin = prompt if isinstance(prompt, str) else "".join(one.token for one in echoed)
        text = (begin if self.echo else "") + ("" if unwanted else completion.text)
        return {
            "index": number,
            "text": text,
            "logprobs": None if self.logprobs is None else _logprobs(echoed, written),
            "finish_reason": "length" if unwanted else finish_reason(completion.finish),
        }


def _logprobs(echoed: Sequence[TokenLogprob], written: Sequence[TokenLogprob]) -> dict[str, Any]:
    """Returns the parallel lists of the API; nothing comes before the first token of a prompt."""
    scored = [*echoed, *written]
    lengths = (len(one.token) for one in scored)
    found: dict[str, list[Any]] = {
        "tokens": [one.token for one in scored],
        "token_logprobs": [one.logprob for one in scored],
        "top_logprobs": [_top(one) for one in scored],
        "text_offset": list(itertools.accumulate(lengths, initial=0))[: len(scored)],
    }
    if echoed:
        found["token_logprobs"][0] = found["top_logprobs"][0] = None
    return found


def _top(one: TokenLogprob) -> dict[str, float]:
    """Returns the token itself and the most probable ones; of tokens that read alike, the most probable."""
    best: dict[str, float] = {}
    for each in (*one.top, one):
        best.setdefault(each.token, each.logprob)
    return best
