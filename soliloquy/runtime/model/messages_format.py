"""Writes requests to chat completions as Anthropic's Messages API has them, and its results as OpenAI's batches do."""

from collections.abc import Mapping
from typing import Any

from soliloquy.runtime.model.dialects import MESSAGES_NAMES
from soliloquy.runtime.model.openai_format import RECORD

_CACHED = {"cache_control": {"type": "ephemeral"}}
_SERVER_ERROR = 500


def as_message_request(body: Mapping[str, Any]) -> dict[str, Any]:
    """Marks the end of the instructions for a cache: what follows changes before a batch comes back to it."""
    rules = [message["content"] for message in body["messages"] if message["role"] == "system"]
    told: dict[str, Any] = {
        "model": body["model"],
        "messages": [dict(message) for message in body["messages"] if message["role"] != "system"],
    }
    if rules:
        told["system"] = [{"type": "text", "text": text} for text in rules]
        told["system"][-1] |= _CACHED
    if limit := body.get("max_tokens") or body.get("max_completion_tokens"):
        told["max_tokens"] = limit
    if "temperature" in body:
        told["temperature"] = min(body["temperature"], MESSAGES_NAMES.most_temperature)
    if schema := body.get("response_format", {}).get("json_schema", {}).get("schema"):
        # It has no form for any JSON object.
        told["output_config"] = {"format": {"type": "json_schema", "schema": schema}}
    if RECORD in body:
        told[RECORD] = body[RECORD]
    return told


def as_file_line(told: Mapping[str, Any]) -> dict[str, Any]:
    """Returns a result as a line of a file of OpenAI's replies."""
    result = told.get("result")
    line: dict[str, Any] = {"custom_id": told.get("custom_id"), "response": None, "error": None}
    match result:
        case {"type": "succeeded", "message": dict(message)}:
            return line | {"response": {"status_code": 200, "body": _completion(message)}}
        case {"type": "errored", "error": dict(error)}:
            inner = error.get("error", error)
            kind = inner.get("type") if isinstance(inner, dict) else ""
            status = MESSAGES_NAMES.statuses.get(str(kind), _SERVER_ERROR)
            return line | {"response": {"status_code": status, "body": {"error": inner}}}
        case {"type": "expired"}:
            return line | {"error": {"code": "batch_expired"}}
        case {"type": "canceled"}:
            return line | {"error": {"code": "batch_cancelled"}}
        case _:
            return line | {"response": {"status_code": 200, "body": {}}}


def _completion(message: Mapping[str, Any]) -> dict[str, Any]:
    """Returns a message as a chat completion. Its count of the prompt leaves out what a cache held or took in."""
    usage = message.get("usage") if isinstance(message.get("usage"), dict) else {}
    names = ("input_tokens", "cache_read_input_tokens", "cache_creation_input_tokens")
    read, held, written = ((usage or {}).get(name) or 0 for name in names)
    reason = message.get("stop_reason")
    return {
        "model": message.get("model"),
        "choices": [
            {
                "message": {"role": "assistant", "content": message.get("content")},
                "finish_reason": MESSAGES_NAMES.finishes.get(str(reason), reason),
            }
        ],
        "usage": {
            "prompt_tokens": read + held + written,
            "completion_tokens": (usage or {}).get("output_tokens"),
            "prompt_tokens_details": {"cached_tokens": held, "cache_write_tokens": written},
        },
    }
