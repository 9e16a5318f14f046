"""Describes a model call to its span, as OpenTelemetry's conventions for generative AI have it."""

import json
from collections.abc import Iterator

from soliloquy.runtime.model.settings import ANY_MODEL, Endpoint
from soliloquy.runtime.traces import spans
from soliloquy.v1.model_pb2 import Completion, Finish, GenerateRequest

_FINISH_REASONS = {
    Finish.FINISH_STOP: "stop",
    Finish.FINISH_LENGTH: "length",
    Finish.FINISH_REFUSAL: "refusal",
    Finish.FINISH_FILTER: "content_filter",
}


def request_attributes(request: GenerateRequest, endpoint: Endpoint) -> dict[str, spans.Attribute]:
    sampling = request.sampling
    told: dict[str, spans.Attribute] = {"provider": endpoint.engine, "temperature": sampling.temperature}
    if (model := request.adapter or endpoint.model) != ANY_MODEL:
        told["request_model"] = model
    if sampling.top_p:
        told["top_p"] = sampling.top_p
    if sampling.max_tokens:
        told["max_tokens"] = sampling.max_tokens
    return told


def answer_attributes(request: GenerateRequest, completion: Completion) -> dict[str, spans.Attribute]:
    told: dict[str, spans.Attribute] = {
        "model": completion.model,
        "prompt_tokens": completion.prompt_tokens,
        "completion_tokens": completion.completion_tokens,
        "reasoning_tokens": completion.reasoning_tokens,
        "cached_tokens": completion.cached_tokens,
        "cache_write_tokens": completion.cache_write_tokens,
    }
    reason = _FINISH_REASONS.get(completion.finish, "")
    if reason:
        told["finish_reasons"] = [reason]
    if spans.recording_content():
        messages = [{"role": one.role, "parts": [_part("text", one.text)]} for one in request.messages]
        answer = {"role": "assistant", "parts": list(_answer_parts(completion)), "finish_reason": reason}
        told["input_messages"] = json.dumps(messages, ensure_ascii=False)
        told["output_messages"] = json.dumps([answer], ensure_ascii=False)
    return told


def _answer_parts(completion: Completion) -> Iterator[dict[str, str]]:
    if completion.reasoning:
        yield _part("reasoning", completion.reasoning)
    yield _part("text", completion.text)


def _part(kind: str, content: str) -> dict[str, str]:
    return {"type": kind, "content": content}
