"""Anthropic's message batches, in front of the stand-in's batches."""

import json
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

from aiohttp import web

from benchmarks.endpoint.batches import Batch, BatchRoutes, Line, jsonl
from soliloquy.runtime.model.batch_api import MessageBatch
from soliloquy.runtime.model.dialects import MESSAGES_NAMES
from soliloquy.runtime.model.openai_format import RECORD
from soliloquy.v1.model_pb2 import Completion, Finish
from soliloquy_services.model.fake import RefusedRequest

_ID = re.compile(r"[a-zA-Z0-9_-]{1,64}")
_PARAMETERS = {"model", "messages", "system", "max_tokens", "temperature", "output_config", RECORD}
_FINISHES = {Finish.FINISH_LENGTH: "max_tokens", Finish.FINISH_REFUSAL: "refusal"}
_ENDS = {"cancelled": "canceled", "expired": "expired"}


class MessageRoutes(BatchRoutes):
    name = "msgbatch"
    path = "/messages/batches"
    cursor = "after_id"

    def add_to(self, router: web.UrlDispatcher, path: str) -> None:
        super().add_to(router, path)
        router.add_get(f"{path}{self.path}/{{batch}}/results", self._results)

    async def asked(self, request: web.Request) -> tuple[Sequence[Line], str, None]:
        for name in self._form.headers:
            if name not in request.headers:
                raise RefusedRequest(400, f"{name}: header is required")
        content = await request.content.read()
        self.check_size(content)
        lines = [Line(request=each["custom_id"], body=each["params"]) for each in json.loads(content)["requests"]]
        wrong = next((line.request for line in lines if not _ID.fullmatch(line.request)), None)
        if not lines or wrong is not None:
            raise RefusedRequest(400, f"requests: no request, or one with the custom_id {wrong!r}")
        if flaw := self.flaw_of(lines):
            raise RefusedRequest(400, f"requests: {flaw}")
        return lines, "", None

    async def _results(self, request: web.Request) -> web.StreamResponse:
        batch = self.known(request.match_info["batch"])
        if not batch.is_over:
            raise RefusedRequest(404, "The batch has no results yet")
        return jsonl(list(_results_of(batch)))

    def told(self, batch: Batch) -> MessageBatch:
        is_over = batch.is_over
        kinds = {each["custom_id"]: each["result"]["type"] for each in _results_of(batch)} if is_over else {}
        counts = Counter(kinds.values())
        # A result that is missing counts all the same.
        counts["succeeded" if is_over else "processing"] += len(batch.lines) - len(kinds)
        return MessageBatch(
            id=self.id_of(batch),
            processing_status="ended" if is_over else "in_progress",
            request_counts=counts,
            created_at=datetime.fromtimestamp(batch.created, UTC),
            results_url=f"{self.path}/{self.id_of(batch)}/results" if is_over else None,
        )


def _results_of(batch: Batch) -> Iterator[dict[str, Any]]:
    for request, status, body in batch.replies:
        if status == 200:
            result = {"type": "succeeded", "message": body}
        else:
            result = {"type": "errored", "error": _error(status, body["error"]["message"])}
        yield {"custom_id": request, "result": result}
    if batch.status in _ENDS:
        for line in batch.unanswered:
            yield {"custom_id": line.request, "result": {"type": _ENDS[batch.status]}}


def as_chat_request(params: Mapping[str, Any]) -> dict[str, Any]:
    """Returns a request as chat completions have it; raises RefusedRequest for one that the Messages API refuses."""
    if unknown := sorted(params.keys() - _PARAMETERS):
        raise RefusedRequest(400, f"{unknown[0]}: Extra inputs are not permitted")
    if lacking := sorted({"model", "messages", "max_tokens"} - params.keys()):
        raise RefusedRequest(400, f"{lacking[0]}: Field required")
    if not 0 <= params.get("temperature", 1.0) <= MESSAGES_NAMES.most_temperature:
        raise RefusedRequest(400, "temperature: Input should be less than or equal to 1")
    if any(message["role"] == "system" for message in params["messages"]):
        raise RefusedRequest(400, "messages: Unexpected role 'system'")
    told = {name: params[name] for name in ("model", "max_tokens", "temperature", RECORD) if name in params}
    rules = [{"role": "system", "content": [block]} for block in params.get("system", [])]
    told["messages"] = [*rules, *params["messages"]]
    if schema := params.get("output_config", {}).get("format", {}).get("schema"):
        named = {"name": "answer", "schema": schema, "strict": True}
        told["response_format"] = {"type": "json_schema", "json_schema": named}
    return told


def as_message(model: str, completion: Completion) -> dict[str, Any]:
    held, written = completion.cached_tokens, completion.cache_write_tokens
    return {
        "type": "message",
        "role": "assistant",
        "model": model,
        "content": [{"type": "text", "text": completion.text}],
        "stop_reason": _FINISHES.get(completion.finish, "end_turn"),
        "usage": {
            "input_tokens": completion.prompt_tokens - held - written,
            "cache_read_input_tokens": held,
            "cache_creation_input_tokens": written,
            "output_tokens": completion.completion_tokens,
        },
    }


def _error(status: int, message: str) -> dict[str, Any]:
    kinds = {code: kind for kind, code in MESSAGES_NAMES.statuses.items()}
    return {"type": "error", "error": {"type": kinds.get(status, "api_error"), "message": message}}
