"""Anthropic's form of batches: a batch of requests in one call, and a file of results.

Such a batch has no name of ours. Where the reply to its making got lost, one that was made since then and has as many
requests may be it: once it has ended, the ids in its results tell."""

import json
import tempfile
from collections.abc import AsyncIterator, Iterable, Mapping
from contextlib import aclosing
from datetime import datetime
from pathlib import Path
from typing import Any

from soliloquy.runtime.model.batch_api import (
    CLOCK_SECONDS,
    FILE_SECONDS,
    BatchCalls,
    Job,
    Missing,
    entries_of,
    field_of,
)
from soliloquy.runtime.model.batch_table import Batch, BatchTable
from soliloquy.runtime.model.dialects import MESSAGES_NAMES, BatchForm
from soliloquy.runtime.model.faults import InvalidAnswer
from soliloquy.runtime.model.openai_format import RECORD, encoded
from soliloquy.runtime.model.openai_http import OpenAIConnection

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


_BATCHES = "/messages/batches"
_PAGE = 1_000
# How many results tell whose a batch is.
_SAMPLE = 100


class MessageBatches:
    def __init__(self, connection: OpenAIConnection, form: BatchForm, table: BatchTable) -> None:
        self.form = form
        self._calls = BatchCalls(connection, form)
        self._table = table
        # Batches that have ended and hold no request of this run.
        self._foreign: set[str] = set()

    async def upload(self, name: str, lines: Iterable[tuple[str, bytes]], folder: Path) -> str:
        return ""

    async def create(self, own: str, file: str, lines: Iterable[tuple[str, bytes]], folder: Path) -> Job:
        with tempfile.TemporaryFile(dir=folder) as content:
            content.write(b'{"requests": [')
            for number, (request, body) in enumerate(lines):
                params = as_message_request(json.loads(body))
                content.write(b",\n" if number else b"\n")
                content.write(encoded({"custom_id": request, "params": params}))
            content.write(b"\n]}")
            return _job(await self._calls.send(_BATCHES, content, "application/json"))

    async def batch(self, remote: str) -> Job:
        return _job(await self._calls.call("GET", f"{_BATCHES}/{remote}"))

    async def find(self, batch: Batch) -> list[Job]:
        found: list[Job] = []
        earliest = batch.created - CLOCK_SECONDS
        latest = batch.posted + FILE_SECONDS + CLOCK_SECONDS
        after = ""
        while True:
            params = {"limit": _PAGE} | ({"after_id": after} if after else {})
            page = await self._calls.call("GET", _BATCHES, params=params)
            entries = entries_of(page)
            made = [_made(entry) for entry in entries]
            for entry, at in zip(entries, made, strict=True):
                if earliest <= at <= latest and (job := await self._like(batch, entry)):
                    found.append(job)
            is_past = any(at < earliest for at in made)
            if is_past or not entries or not field_of(page, "has_more"):
                return found
            after = str(field_of(entries[-1], "id"))

    async def _like(self, batch: Batch, entry: Any) -> Job | None:
        """Returns a batch at the endpoint that is, or may be, made of this one."""
        remote = str(field_of(entry, "id"))
        is_as_large = sum(_counts(entry).values()) == batch.requests
        if not is_as_large or remote in self._foreign or self._table.knows(remote):
            return None
        job = _job(entry, is_certain=False)
        if not job.is_over:
            return job
        try:
            owners = await self._owners(job)
        except Missing:
            owners = set()
        if not owners:
            self._foreign.add(remote)
        # The requests of a batch that has ended are in none.
        is_it = batch.id in owners or (batch.remote != "" and "" in owners)
        return _job(entry) if is_it else None

    async def _owners(self, job: Job) -> set[str]:
        """Returns which batches of this run have requests that a batch has results for."""
        owners: set[str] = set()
        number = 0
        for file in job.files:
            async with aclosing(self._calls.objects(f"{_BATCHES}/{file}/results")) as results:
                async for told in results:
                    owners |= self._table.batches_of(str(told.get("custom_id")))
                    number += 1
                    if number == _SAMPLE:
                        break
        return owners

    async def cancel(self, remote: str) -> None:
        await self._calls.call("POST", f"{_BATCHES}/{remote}/cancel")

    async def delete(self, file: str) -> None:
        """Leaves the results where they are: the endpoint deletes them after 29 days."""

    async def lines(self, file: str) -> AsyncIterator[Mapping[str, Any]]:
        async for told in self._calls.objects(f"{_BATCHES}/{file}/results"):
            yield as_file_line(told)


def _job(told: Any, *, is_certain: bool = True) -> Job:
    remote, has_ended = str(field_of(told, "id")), field_of(told, "processing_status") == "ended"
    return Job(
        remote=remote,
        # Its results say of each request whether it expired or was cancelled.
        status="completed" if has_ended else str(field_of(told, "processing_status")),
        files=(remote,) if has_ended and field_of(told, "results_url") else (),
        is_certain=is_certain,
    )


def _counts(told: Any) -> dict[str, int]:
    counts = field_of(told, "request_counts")
    if not isinstance(counts, dict) or not all(isinstance(count, int) for count in counts.values()):
        raise InvalidAnswer("a batch has no counts of its requests")
    return counts


def _made(told: Any) -> float:
    try:
        return datetime.fromisoformat(field_of(told, "created_at")).timestamp()
    except (ValueError, TypeError) as error:
        raise InvalidAnswer("a batch does not say when it was made") from error
