"""Requests and responses of OpenAI's chat completions API, shared by every server that speaks it."""

import json
import time
import uuid
from collections.abc import Mapping
from typing import Any, Literal

from pydantic import BaseModel, Field, ValidationError

from soliloquy.v1.model_pb2 import Completion, Finish, TokenLogprob

LAST_EVENT = "data: [DONE]\n\n"
_KINDS = {429: "rate_limit_error", 500: "server_error", 503: "server_error"}
_FINISH = {Finish.FINISH_STOP: "stop", Finish.FINISH_LENGTH: "length"}


# Unsupported options, with the values that have no effect, because some clients always send those.
_WITHOUT_EFFECT: dict[str, tuple[Any, ...]] = {
    "n": (1,),
    "stop": ([], ""),
    "tools": ([],),
    "functions": ([],),
    "logprobs": (False,),
    "logit_bias": ({},),
    "presence_penalty": (0,),
    "frequency_penalty": (0,),
    "stream": (False,),
    "suffix": ("",),
    "best_of": (1,),
}


class _Part(BaseModel):
    type: Literal["text"]
    text: str


class RequestMessage(BaseModel):
    role: Literal["system", "developer", "user", "assistant"]
    content: str | list[_Part]

    @property
    def text(self) -> str:
        return self.content if isinstance(self.content, str) else "".join(part.text for part in self.content)


class _StreamOptions(BaseModel):
    include_usage: bool = False


class CommonRequest(BaseModel, extra="allow"):
    model: str

    def unsupported_option(self) -> str:
        """Names an option of the request that we do not support; empty if there is none."""
        for name, value in (self.model_extra or {}).items():
            if value is not None and name in _WITHOUT_EFFECT and value not in _WITHOUT_EFFECT[name]:
                return f"{name} is {json.dumps(value)}, which is not supported: leave it out"
        return ""


class CommonChatRequest(CommonRequest):
    """The fields that every server reads."""

    messages: list[RequestMessage] = Field(min_length=1)
    stream: bool | None = None
    stream_options: _StreamOptions | None = None

    @property
    def wants_usage(self) -> bool:
        return self.stream_options is not None and self.stream_options.include_usage


class ChatResponse:
    """A response, complete or in chunks."""

    def __init__(self, model: str) -> None:
        self._common = {"id": f"chatcmpl-{uuid.uuid4().hex}", "created": int(time.time()), "model": model}

    def whole(self, completion: Completion) -> dict[str, Any]:
        choices = [
            {
                "index": number,
                "message": {"role": "assistant", "content": sample.text, "refusal": None},
                "logprobs": _logprobs(sample),
                "finish_reason": _FINISH.get(sample.finish),
            }
            for number, sample in enumerate((completion, *completion.more))
        ]
        return self._common | {"object": "chat.completion", "choices": choices, "usage": _usage(completion)}

    def chunk(self, delta: Mapping[str, str], finish: Finish = Finish.FINISH_UNSPECIFIED) -> dict[str, Any]:
        choice = {"index": 0, "delta": dict(delta), "logprobs": None, "finish_reason": _FINISH.get(finish)}
        return self._common | {"object": "chat.completion.chunk", "choices": [choice]}

    def usage(self, completion: Completion) -> dict[str, Any]:
        return self._common | {"object": "chat.completion.chunk", "choices": [], "usage": _usage(completion)}


def sse(content: Mapping[str, Any]) -> str:
    """Formats one server-sent event."""
    return f"data: {json.dumps(content, ensure_ascii=False)}\n\n"


def model_entry(model: str) -> dict[str, Any]:
    return {"id": model, "object": "model", "created": 0, "owned_by": "soliloquy"}


def error_body(status: int, line: str, name: str) -> dict[str, Any]:
    """Returns the body of an error response."""
    kind = _KINDS.get(status, "invalid_request_error")
    return {"error": {"message": line, "type": kind, "param": None, "code": name or None}}


def first_error(error: ValidationError) -> str:
    """Describes the first validation error and where it is."""
    first = error.errors()[0]
    place = ".".join(str(part) for part in first["loc"])
    return f"{place}: {first['msg']}" if place else f"the body is not a JSON object: {first['msg']}"


def usage(prompt: int, written: int) -> dict[str, int]:
    return {"prompt_tokens": prompt, "completion_tokens": written, "total_tokens": prompt + written}


def finish_reason(finish: Finish) -> str | None:
    return _FINISH.get(finish)


def _logprobs(sample: Completion) -> dict[str, Any] | None:
    if not sample.logprobs:
        return None
    return {
        "content": [_logprob(one) | {"top_logprobs": [_logprob(each) for each in one.top]} for one in sample.logprobs],
        "refusal": None,
    }


def _logprob(token: TokenLogprob) -> dict[str, Any]:
    # A token may be a part of a character.
    is_whole = "\ufffd" not in token.token
    return {
        "token": token.token,
        "logprob": token.logprob,
        "bytes": list(token.token.encode()) if is_whole else None,
    }


def _usage(completion: Completion) -> dict[str, int]:
    """Counts the prompt of several samples once."""
    return usage(completion.prompt_tokens, sum(sample.completion_tokens for sample in (completion, *completion.more)))
