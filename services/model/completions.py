"""What OpenAI's chat completions say, as requests to a model and as its answers."""

import json
import time
import uuid
from collections.abc import Mapping
from typing import Any, Literal

from pydantic import BaseModel, Field, ValidationError
from soliloquy.v1.model_pb2 import Completion, Finish, GenerateRequest, Message, Sampling

from services.model.engines.engine import InvalidRequest

_ROLES = {"system": "system", "developer": "system", "user": "user", "assistant": "assistant"}
_FINISH = {Finish.FINISH_STOP: "stop", Finish.FINISH_LENGTH: "length"}
# What would change the answer and is not offered; clients send some of them with the value that changes nothing.
_NOT_OFFERED: dict[str, tuple[Any, ...]] = {
    "n": (1,),
    "stop": ([], ""),
    "tools": ([],),
    "functions": ([],),
    "logprobs": (False,),
    "logit_bias": ({},),
    "presence_penalty": (0,),
    "frequency_penalty": (0,),
}


class _Part(BaseModel):
    type: Literal["text"]
    text: str


class _Message(BaseModel):
    role: Literal["system", "developer", "user", "assistant"]
    content: str | list[_Part]

    def message(self) -> Message:
        text = self.content if isinstance(self.content, str) else "".join(part.text for part in self.content)
        return Message(role=_ROLES[self.role], text=text)


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
                raise InvalidRequest("response_format is json_schema and has none: set response_format.json_schema")
            case _:
                return json.dumps(self.json_schema.schema_)


class _StreamOptions(BaseModel):
    include_usage: bool = False


class ChatRequest(BaseModel, extra="allow"):
    model: str
    messages: list[_Message] = Field(min_length=1)
    temperature: float | None = Field(default=None, ge=0, le=2)
    top_p: float | None = Field(default=None, gt=0, le=1)
    max_tokens: int | None = Field(default=None, ge=1, lt=2**31)
    max_completion_tokens: int | None = Field(default=None, ge=1, lt=2**31)
    seed: int | None = Field(default=None, ge=-(2**63), lt=2**63)
    response_format: _Format | None = None
    stream: bool | None = None
    stream_options: _StreamOptions | None = None
    # Of "role" and "prompt": what a request of ours has beyond OpenAI's.
    metadata: dict[str, str] | None = None

    @property
    def wants_usage(self) -> bool:
        return self.stream_options is not None and self.stream_options.include_usage

    def request(self, adapter: str, request_id: str) -> GenerateRequest:
        """Raises InvalidRequest where it asks for what is not offered."""
        for name, value in (self.model_extra or {}).items():
            if value is not None and name in _NOT_OFFERED and value not in _NOT_OFFERED[name]:
                raise InvalidRequest(f"{name} is {json.dumps(value)}, which is not offered here: leave it out")
        metadata = self.metadata or {}
        return GenerateRequest(
            role=metadata.get("role", ""),
            prompt=metadata.get("prompt", ""),
            messages=[message.message() for message in self.messages],
            schema=self.response_format.schema_text() if self.response_format else "",
            sampling=Sampling(
                temperature=1.0 if self.temperature is None else self.temperature,
                top_p=1.0 if self.top_p is None else self.top_p,
                # None: up to the engine's limit.
                max_tokens=self.max_completion_tokens or self.max_tokens or 0,
            ),
            # Without a seed every answer is another one, as OpenAI's clients expect.
            seed=uuid.uuid4().int % 2**64 if self.seed is None else self.seed % 2**64,
            adapter=adapter,
            id=request_id,
        )


class Answer:
    """One answer in OpenAI's words, whole or in chunks."""

    def __init__(self, model: str) -> None:
        self._common = {"id": f"chatcmpl-{uuid.uuid4().hex}", "created": int(time.time()), "model": model}

    def whole(self, completion: Completion) -> dict[str, Any]:
        message = {"role": "assistant", "content": completion.text, "refusal": None}
        choice = {"index": 0, "message": message, "logprobs": None, "finish_reason": _FINISH.get(completion.finish)}
        return self._common | {"object": "chat.completion", "choices": [choice], "usage": _usage(completion)}

    def chunk(self, delta: Mapping[str, str], finish: Finish = Finish.FINISH_UNSPECIFIED) -> dict[str, Any]:
        choice = {"index": 0, "delta": dict(delta), "logprobs": None, "finish_reason": _FINISH.get(finish)}
        return self._common | {"object": "chat.completion.chunk", "choices": [choice]}

    def usage(self, completion: Completion) -> dict[str, Any]:
        return self._common | {"object": "chat.completion.chunk", "choices": [], "usage": _usage(completion)}


def invalid(error: ValidationError) -> InvalidRequest:
    """The first thing that is wrong, by its place."""
    first = error.errors()[0]
    place = ".".join(str(part) for part in first["loc"])
    return InvalidRequest(f"{place}: {first['msg']}" if place else f"the body is no JSON object: {first['msg']}")


def _usage(completion: Completion) -> dict[str, int]:
    return {
        "prompt_tokens": completion.prompt_tokens,
        "completion_tokens": completion.completion_tokens,
        "total_tokens": completion.prompt_tokens + completion.completion_tokens,
    }
