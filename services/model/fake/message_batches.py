"""Anthropic's message batches, in front of the stand-in's batches."""

import json
import re
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from typing import Any

from aiohttp import web

from soliloquy.runtime.model.dialects import MESSAGES_NAMES, BatchForm
from soliloquy.runtime.model.openai_format import RECORD
from soliloquy.v1.model_pb2 import Completion, Finish
from soliloquy_services.model.fake.batches import Batch, FakeBatches, Line, flaw_of
from soliloquy_services.model.fake.dialects import RefusedRequest
from soliloquy_services.model.fake.file_batches import jsonl

_NAME = "msgbatch_"
_ID = re.compile(r"[a-zA-Z0-9_-]{1,64}")
_PARAMETERS = {"model", "messages", "system", "max_tokens", "temperature", "output_config", RECORD}
_FINISHES = {Finish.FINISH_LENGTH: "max_tokens", Finish.FINISH_REFUSAL: "refusal"}
_ENDS = {"cancelled": "canceled", "expired": "expired"}


class MessageRoutes:
    def __init__(self, batches: FakeBatches, form: BatchForm) -> None:
        self._batches = batches
        self._form = form

    def add_to(self, router: web.UrlDispatcher, path: str) -> None:
        place = f"{path}/messages/batches"
        router.add_post(place, self._create)
        router.add_get(place, self._list)
        router.add_get(f"{place}/{{batch}}", self._show)
        router.add_get(f"{place}/{{batch}}/results", self._results)
        router.add_post(f"{place}/{{batch}}/cancel", self._cancel)

    async def _create(self, request: web.Request) -> web.StreamResponse:
        for name in self._form.headers:
            if name not in request.headers:
                return _refused(400, f"{name}: header is required")
        content = await request.content.read()
        if len(content) > self._form.bytes:
            return _refused(413, "Request exceeds the maximum size")
        lines = [Line(request=each["custom_id"], body=each["params"]) for each in json.loads(content)["requests"]]
        wrong = next((line.request for line in lines if not _ID.fullmatch(line.request)), None)
        if not lines or wrong is not None:
            return _refused(400, f"requests: no request, or one with the custom_id {wrong!r}")
        if flaw := flaw_of(lines, self._form):
            return _refused(400, f"requests: {flaw}")
        batch, arrives = self._batches.create(lines, "")
        if not arrives and request.transport:
            request.transport.close()
        return web.json_response(self._told(request, batch))

    async def _list(self, request: web.Request) -> web.StreamResponse:
        known = self._batches.newest_first()
        names = [f"{_NAME}{batch.number}" for batch in known]
        after = request.query.get("after_id", "")
        first = names.index(after) + 1 if after in names else 0
        page = known[first : first + int(request.query.get("limit", 20))]
        told = [self._told(request, batch) for batch in page]
        ends = {"first_id": told[0]["id"], "last_id": told[-1]["id"]} if told else {}
        return web.json_response({"data": told, "has_more": first + len(page) < len(known), **ends})

    async def _show(self, request: web.Request) -> web.StreamResponse:
        return web.json_response(self._told(request, self._known(request)))

    async def _cancel(self, request: web.Request) -> web.StreamResponse:
        batch = self._known(request)
        told = self._told(request, batch)
        if batch.is_over:
            return _refused(400, "The batch has ended")
        await self._batches.cancel(batch)
        return web.json_response(told | {"processing_status": "canceling"})

    async def _results(self, request: web.Request) -> web.StreamResponse:
        batch = self._known(request)
        if not batch.is_over:
            return _refused(404, "The batch has no results yet")
        return web.Response(body=jsonl(list(_results_of(batch))), content_type="application/x-jsonl")

    def _known(self, request: web.Request) -> Batch:
        batch = self._batches.known(request.match_info["batch"].removeprefix(_NAME))
        if not batch:
            body = json.dumps(_error(404, "No such batch"))
            raise web.HTTPNotFound(text=body, content_type="application/json")
        return batch

    def _told(self, request: web.Request, batch: Batch) -> dict[str, Any]:
        name, is_over = f"{_NAME}{batch.number}", batch.is_over
        kinds = {each["custom_id"]: each["result"]["type"] for each in _results_of(batch)} if is_over else {}
        counts = {kind: list(kinds.values()).count(kind) for kind in ("succeeded", "errored", "canceled", "expired")}
        # A result that is missing counts all the same.
        counts["succeeded"] += len(batch.lines) - len(kinds) if is_over else 0
        results = str(request.url.with_path(f"/v1/messages/batches/{name}/results").with_query(None))
        return {
            "id": name,
            "type": "message_batch",
            "processing_status": "ended" if is_over else "in_progress",
            "request_counts": {"processing": 0 if is_over else len(batch.lines), **counts},
            "created_at": datetime.fromtimestamp(batch.created, UTC).isoformat().replace("+00:00", "Z"),
            "results_url": results if is_over else None,
        }


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


def _refused(status: int, message: str) -> web.Response:
    return web.json_response(_error(status, message), status=status)
