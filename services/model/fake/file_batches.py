"""OpenAI's files and batches, in front of the stand-in's batches."""

import json
from collections.abc import Sequence
from typing import Any

from aiohttp import web

from soliloquy.runtime.model.dialects import BatchForm
from soliloquy_services.model.fake.batches import Batch, FakeBatches, Line, flaw_of

_NAME = "batch_"


class FileRoutes:
    def __init__(self, batches: FakeBatches, form: BatchForm) -> None:
        self._batches = batches
        self._form = form
        self._files: dict[str, bytes] = {}
        self._kept = 0
        # The body that asked for each batch, and its files of replies.
        self._asked: dict[int, dict[str, Any]] = {}
        self._replies: dict[int, dict[str, str | None]] = {}

    def add_to(self, router: web.UrlDispatcher, path: str) -> None:
        router.add_post(f"{path}/files", self._upload)
        router.add_get(f"{path}/files/{{file}}/content", self._content)
        router.add_delete(f"{path}/files/{{file}}", self._delete)
        router.add_post(f"{path}/batches", self._create)
        router.add_get(f"{path}/batches", self._list)
        router.add_get(f"{path}/batches/{{batch}}", self._show)
        router.add_post(f"{path}/batches/{{batch}}/cancel", self._cancel)

    async def _upload(self, request: web.Request) -> web.StreamResponse:
        content, purpose = b"", ""
        async for part in await request.multipart():
            if getattr(part, "name", "") == "file":
                content = await part.read()  # type: ignore[union-attr]
            else:
                purpose = (await part.read()).decode()  # type: ignore[union-attr]
        if purpose != "batch":
            return _refused(400, f"Invalid purpose: {purpose!r}")
        if len(content) > self._form.bytes:
            return _refused(413, f"The file has more than {self._form.bytes:,} bytes")
        return web.json_response({"object": "file", "id": self._keep(content), "bytes": len(content)})

    def _keep(self, content: bytes) -> str:
        self._kept += 1
        name = f"file-{self._kept}"
        self._files[name] = content
        return name

    async def _content(self, request: web.Request) -> web.StreamResponse:
        content = self._files.get(request.match_info["file"])
        return _refused(404, "No such file") if content is None else web.Response(body=content)

    async def _delete(self, request: web.Request) -> web.StreamResponse:
        if self._files.pop(request.match_info["file"], None) is None:
            return _refused(404, "No such file")
        return web.json_response({"id": request.match_info["file"], "deleted": True})

    async def _create(self, request: web.Request) -> web.StreamResponse:
        asked = await request.json()
        content = self._files.get(asked["input_file_id"])
        if content is None:
            return _refused(400, "No such file")
        told = [json.loads(line) for line in content.splitlines()]
        lines = [Line(request=line["custom_id"], body=line["body"]) for line in told]
        is_for_chat = all(line["url"] == "/v1/chat/completions" for line in told)
        first = len(self._batches.made)
        batch, arrives = self._batches.create(
            lines, flaw_of(lines, self._form) or ("" if is_for_chat else "another url")
        )
        self._asked |= {made.number: asked for made in self._batches.made[first:]}
        if not arrives and request.transport:
            request.transport.close()
        return web.json_response(self._told(batch))

    async def _list(self, request: web.Request) -> web.StreamResponse:
        known = self._batches.newest_first()
        names = [f"{_NAME}{batch.number}" for batch in known]
        after = request.query.get("after", "")
        first = names.index(after) + 1 if after in names else 0
        page = [self._told(batch) for batch in known[first : first + int(request.query.get("limit", 20))]]
        return web.json_response({"object": "list", "data": page, "has_more": first + len(page) < len(known)})

    async def _show(self, request: web.Request) -> web.StreamResponse:
        batch = self._known(request)
        return web.json_response(self._told(batch)) if batch else _refused(404, "No such batch")

    async def _cancel(self, request: web.Request) -> web.StreamResponse:
        batch = self._known(request)
        if not batch:
            return _refused(404, "No such batch")
        await self._batches.cancel(batch)
        return web.json_response(self._told(batch))

    def _known(self, request: web.Request) -> Batch | None:
        return self._batches.known(request.match_info["batch"].removeprefix(_NAME))

    def _told(self, batch: Batch) -> dict[str, Any]:
        asked = self._asked[batch.number]
        if batch.is_over and not batch.flaw and batch.number not in self._replies:
            self._replies[batch.number] = self._files_of(batch)
        files = self._replies.get(batch.number, {})
        errors = {"object": "list", "data": [{"code": "invalid", "message": batch.flaw}]}
        return {
            "id": f"{_NAME}{batch.number}",
            "object": "batch",
            "status": batch.status,
            "created_at": int(batch.created),
            "metadata": asked.get("metadata"),
            "input_file_id": asked["input_file_id"],
            "output_file_id": files.get("output"),
            "error_file_id": files.get("error"),
            "errors": errors if batch.flaw else None,
            "request_counts": {
                "total": len(batch.lines),
                "completed": batch.counts[True] if batch.is_over else 0,
                "failed": batch.counts[False] if batch.is_over else 0,
            },
        }

    def _files_of(self, batch: Batch) -> dict[str, str | None]:
        lines: dict[str, list[Any]] = {"output": [], "error": []}
        for request, status, body in batch.replies:
            response = {"status_code": status, "body": body}
            lines["output" if status == 200 else "error"].append(
                {"custom_id": request, "response": response, "error": None}
            )
        if batch.status != "completed":
            error = {"code": f"batch_{batch.status}", "message": f"batch_{batch.status}"}
            lines["error"] += [
                {"custom_id": line.request, "response": None, "error": error} for line in batch.unanswered
            ]
        return {kind: self._keep(jsonl(told)) if told else None for kind, told in lines.items()}


def jsonl(lines: Sequence[Any]) -> bytes:
    return "".join(json.dumps(line, ensure_ascii=False) + "\n" for line in lines).encode()


def _refused(status: int, message: str) -> web.Response:
    return web.json_response({"error": {"message": message, "type": "invalid_request_error"}}, status=status)
