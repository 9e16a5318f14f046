"""Anthropic's form of batches: a batch of requests in one call, and a file of results.

Such a batch has no name of ours. Where the reply to its making got lost, one that was made since then and has as many
requests may be it: once it has ended, the ids in its results tell."""

import json
import tempfile
from collections.abc import AsyncIterator, Iterable, Mapping
from contextlib import aclosing
from dataclasses import replace
from pathlib import Path
from typing import Any

from soliloquy.runtime.model.batch_api import (
    CLOCK_SECONDS,
    FILE_SECONDS,
    BatchApi,
    Job,
    MessageBatch,
    Missing,
)
from soliloquy.runtime.model.batch_table import Batch, BatchTable
from soliloquy.runtime.model.dialects import MESSAGES_NAMES, BatchForm
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


# How many results tell whose a batch is.
_SAMPLE = 100


class MessageBatches(BatchApi[MessageBatch]):
    described = MessageBatch
    path = "/messages/batches"
    page = 1_000
    cursor = "after_id"

    def __init__(self, connection: OpenAIConnection, form: BatchForm, table: BatchTable) -> None:
        super().__init__(connection, form)
        self._table = table
        # Batches that have ended and hold no request of this run.
        self._foreign: set[str] = set()

    async def create(self, own: str, file: str, lines: Iterable[tuple[str, bytes]], folder: Path) -> Job:
        with tempfile.TemporaryFile(dir=folder) as content:
            content.write(b'{"requests": [')
            for number, (request, body) in enumerate(lines):
                params = as_message_request(json.loads(body))
                content.write(b",\n" if number else b"\n")
                content.write(encoded({"custom_id": request, "params": params}))
            content.write(b"\n]}")
            return self.job(await self.send(self.path, content, "application/json"))

    async def find(self, batch: Batch) -> list[Job]:
        latest = batch.posted + FILE_SECONDS + CLOCK_SECONDS
        listed = self.listed(batch.created - CLOCK_SECONDS)
        return [job async for entry in listed if entry.made <= latest and (job := await self._like(batch, entry))]

    async def _like(self, batch: Batch, entry: MessageBatch) -> Job | None:
        """Returns a batch at the endpoint that is, or may be, made of this one."""
        is_as_large = sum(entry.request_counts.values()) == batch.requests
        if not is_as_large or entry.id in self._foreign or self._table.knows(entry.id):
            return None
        job = self.job_of(entry)
        if not job.is_over:
            return replace(job, is_certain=False)
        try:
            owners = await self._owners(job)
        except Missing:
            owners = set()
        if not owners:
            self._foreign.add(entry.id)
        # The requests of a batch that has ended are in none.
        is_it = batch.id in owners or (batch.remote != "" and "" in owners)
        return job if is_it else None

    async def _owners(self, job: Job) -> set[str]:
        """Returns which batches of this run have requests that a batch has results for."""
        owners: set[str] = set()
        number = 0
        for file in job.files:
            async with aclosing(self.objects(self._results(file))) as results:
                async for told in results:
                    owners |= self._table.batches_of(str(told.get("custom_id")))
                    number += 1
                    if number == _SAMPLE:
                        break
        return owners

    async def delete(self, file: str) -> None:
        """Leaves the results where they are: the endpoint deletes them after 29 days."""

    async def lines(self, file: str) -> AsyncIterator[Mapping[str, Any]]:
        async for told in self.objects(self._results(file)):
            yield as_file_line(told)

    def _results(self, remote: str) -> str:
        return f"{self.path}/{remote}/results"

    def job_of(self, entry: MessageBatch) -> Job:
        return Job(
            remote=entry.id,
            # Its results say of each request whether it expired or was cancelled.
            status="completed" if entry.has_ended else entry.processing_status,
            files=(entry.id,) if entry.has_ended and entry.results_url else (),
        )
