"""OpenAI's files and batches, in front of the stand-in's batches."""

import itertools
import json
from collections.abc import Mapping, Sequence
from typing import Any

from aiohttp import web

from benchmarks.endpoint.batches import Batch, BatchRoutes, FakeBatches, Line, jsonl
from soliloquy.runtime.model.batch_api import FileBatch, UploadedFile
from soliloquy.runtime.model.dialects import BatchForm
from soliloquy_services.model.fake import RefusedRequest


class FileRoutes(BatchRoutes):
    name = "batch"
    path = "/batches"
    cursor = "after"

    def __init__(self, batches: FakeBatches, form: BatchForm) -> None:
        super().__init__(batches, form)
        self._files: dict[str, bytes] = {}
        self._uploads = itertools.count(1)

    def add_to(self, router: web.UrlDispatcher, path: str) -> None:
        super().add_to(router, path)
        router.add_post(f"{path}/files", self._upload)
        router.add_get(f"{path}/files/{{file}}/content", self._content)
        router.add_delete(f"{path}/files/{{file}}", self._delete)

    async def _upload(self, request: web.Request) -> web.StreamResponse:
        content, purpose = b"", ""
        async for part in await request.multipart():
            if getattr(part, "name", "") == "file":
                content = await part.read()  # type: ignore[union-attr]
            else:
                purpose = (await part.read()).decode()  # type: ignore[union-attr]
        if purpose != "batch":
            raise RefusedRequest(400, f"Invalid purpose: {purpose!r}")
        self.check_size(content)
        file = UploadedFile(id=f"file-{next(self._uploads)}")
        self._files[file.id] = content
        return web.json_response(file.model_dump())

    async def _content(self, request: web.Request) -> web.StreamResponse:
        name, _, kind = request.match_info["file"].partition(".")
        if (lines := _replies_of(self.known(name)).get(kind)) is None:
            raise RefusedRequest(404, "No such file")
        return jsonl(lines)

    async def _delete(self, request: web.Request) -> web.StreamResponse:
        file = request.match_info["file"]
        if self._files.pop(file, None) is None:
            # A file of replies goes with its batch.
            self.known(file.partition(".")[0])
        return web.json_response({"id": file, "deleted": True})

    async def asked(self, request: web.Request) -> tuple[Sequence[Line], str, dict[str, Any] | None]:
        body = await request.json()
        if (content := self._files.get(body["input_file_id"])) is None:
            raise RefusedRequest(400, "No such file")
        told = [json.loads(line) for line in content.splitlines()]
        lines = [Line(request=line["custom_id"], body=line["body"]) for line in told]
        is_for_chat = all(line["url"] == "/v1/chat/completions" for line in told)
        flaw = self.flaw_of(lines) or ("" if is_for_chat else "another url")
        return lines, flaw, body.get("metadata")

    def told(self, batch: Batch) -> FileBatch:
        name = self.id_of(batch)
        replies = _replies_of(batch) if batch.is_over and not batch.flaw else {}
        files = {f"{kind}_file_id": f"{name}.{kind}" for kind, lines in replies.items() if lines}
        errors = {"data": [{"code": "invalid", "message": batch.flaw}]} if batch.flaw else None
        return FileBatch(
            id=name,
            status=batch.status,
            created_at=batch.created,
            metadata=batch.metadata,
            request_counts={"total": len(batch.lines)},
            errors=errors,
            **files,
        )


def _replies_of(batch: Batch) -> Mapping[str, Sequence[Any]]:
    """Returns the lines of a batch's files, by kind."""
    lines: dict[str, list[Any]] = {"output": [], "error": []}
    for request, status, body in batch.replies:
        response = {"status_code": status, "body": body}
        lines["output" if status == 200 else "error"].append(
            {"custom_id": request, "response": response, "error": None}
        )
    if batch.status != "completed":
        error = {"code": f"batch_{batch.status}", "message": f"batch_{batch.status}"}
        lines["error"] += [{"custom_id": line.request, "response": None, "error": error} for line in batch.unanswered]
    return lines
