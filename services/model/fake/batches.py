"""The files and batches of the stand-in: works on a batch after a while, and fails at batches as real endpoints do."""

import asyncio
import json
import time
from collections.abc import Awaitable, Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from random import Random
from typing import Any

from aiohttp import web

from soliloquy.runtime.model.batch_api import MOST_BYTES, MOST_REQUESTS
from soliloquy.runtime.model.openai_client import PROMPT_HEADER, SEED_HEADER
from soliloquy.runtime.seeds import draw

# Works on a request: returns the status and the body of its answer.
Work = Callable[[dict[str, Any], Mapping[str, str]], Awaitable[tuple[int, Any]]]
# How many requests of a batch are worked on before others have a turn.
_AT_ONCE = 50


@dataclass(frozen=True, kw_only=True, slots=True)
class BatchFaults:
    """The share of batches, or of their lines, that have each fault."""

    # Works on half of the batch, and expires.
    expired: float = 0.0
    # Is forgotten before it is worked on.
    lost: float = 0.0
    # Is made, and the reply that says so gets lost.
    unheard: float = 0.0
    # Is made twice.
    twice: float = 0.0
    # A line may be a 500, be missing, or be there twice.
    line_failed: float = 0.0
    line_missing: float = 0.0
    line_repeated: float = 0.0


@dataclass(kw_only=True, eq=False)
class Batch:
    number: int
    told: dict[str, Any]
    lines: list[dict[str, Any]]
    working: asyncio.Task[None] | None = None
    is_lost: bool = False
    replies: dict[str, list[Any]] = field(default_factory=lambda: {"output": [], "error": []})


class FakeBatches:
    def __init__(self, work: Work, faults: BatchFaults, *, seconds: float, seed: int) -> None:
        """`seconds` is how long a batch takes."""
        self._work = work
        self._faults = faults
        self._seconds = seconds
        self._seed = seed
        self._files: dict[str, bytes] = {}
        self._batches: dict[str, Batch] = {}
        self._made = self._kept = 0

    @property
    def made(self) -> list[Batch]:
        return list(self._batches.values())

    def add_routes(self, router: web.UrlDispatcher, path: str) -> None:
        router.add_post(f"{path}/files", self._upload)
        router.add_get(f"{path}/files/{{file}}/content", self._content)
        router.add_delete(f"{path}/files/{{file}}", self._delete)
        router.add_post(f"{path}/batches", self._create)
        router.add_get(f"{path}/batches", self._list)
        router.add_get(f"{path}/batches/{{batch}}", self._show)
        router.add_post(f"{path}/batches/{{batch}}/cancel", self._cancel)

    async def close(self) -> None:
        for batch in self._batches.values():
            if batch.working:
                batch.working.cancel()

    async def _upload(self, request: web.Request) -> web.StreamResponse:
        content, purpose = b"", ""
        async for part in await request.multipart():
            if getattr(part, "name", "") == "file":
                content = await part.read()  # type: ignore[union-attr]
            else:
                purpose = (await part.read()).decode()  # type: ignore[union-attr]
        if purpose != "batch":
            return _refused(400, f"Invalid purpose: {purpose!r}")
        if len(content) > MOST_BYTES:
            return _refused(413, f"The file has more than {MOST_BYTES:,} bytes")
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
        chance = draw("batch", self._seed, self._made)
        batch = self._make(asked, content, chance)
        if chance.random() < self._faults.twice:
            self._make(asked, content, chance)
        if chance.random() < self._faults.unheard and request.transport:
            request.transport.close()
        return web.json_response(batch.told)

    def _make(self, asked: Mapping[str, Any], content: bytes, chance: Random) -> Batch:
        self._made += 1
        lines = [json.loads(line) for line in content.splitlines()]
        told = {
            "id": f"batch_{self._made}",
            "object": "batch",
            "status": "validating",
            "created_at": int(time.time()),
            "metadata": asked.get("metadata"),
            "input_file_id": asked["input_file_id"],
            "output_file_id": None,
            "error_file_id": None,
            "errors": None,
            "request_counts": {"total": len(lines), "completed": 0, "failed": 0},
        }
        batch = self._batches[told["id"]] = Batch(number=self._made, told=told, lines=lines)
        if flaw := _flaw(lines):
            told |= {"status": "failed", "errors": {"object": "list", "data": [{"code": "invalid", "message": flaw}]}}
        else:
            is_lost, expires = (chance.random() < share for share in (self._faults.lost, self._faults.expired))
            batch.working = asyncio.create_task(self._run(batch, is_lost=is_lost, expires=expires))
        return batch

    async def _list(self, request: web.Request) -> web.StreamResponse:
        known = [batch.told for batch in reversed(self._batches.values()) if not batch.is_lost]
        after = request.query.get("after", "")
        names = [told["id"] for told in known]
        first = names.index(after) + 1 if after in names else 0
        page = known[first : first + int(request.query.get("limit", 20))]
        return web.json_response({"object": "list", "data": page, "has_more": first + len(page) < len(known)})

    async def _show(self, request: web.Request) -> web.StreamResponse:
        batch = self._batches.get(request.match_info["batch"])
        return _refused(404, "No such batch") if batch is None or batch.is_lost else web.json_response(batch.told)

    async def _cancel(self, request: web.Request) -> web.StreamResponse:
        batch = self._batches.get(request.match_info["batch"])
        if batch is None or batch.is_lost:
            return _refused(404, "No such batch")
        if batch.working and not batch.working.done():
            batch.working.cancel()
            with suppress(asyncio.CancelledError):
                await batch.working
            self._finish(batch, "cancelled")
        return web.json_response(batch.told)

    async def _run(self, batch: Batch, *, is_lost: bool, expires: bool) -> None:
        await asyncio.sleep(self._seconds / 2)
        if is_lost:
            batch.is_lost = True
            return
        batch.told["status"] = "in_progress"
        # Lines come back in any order.
        lines = draw("order", self._seed, batch.number).sample(batch.lines, len(batch.lines))
        for place, line in enumerate(lines[: len(lines) // 2] if expires else lines):
            await self._answer(batch, line)
            if place % _AT_ONCE == 0:
                await asyncio.sleep(0)
        batch.told["status"] = "finalizing"
        await asyncio.sleep(self._seconds / 2)
        self._finish(batch, "expired" if expires else "completed")

    async def _answer(self, batch: Batch, line: Mapping[str, Any]) -> None:
        request, faults = line["custom_id"], self._faults
        chance = draw("line", self._seed, batch.number, request)
        if chance.random() < faults.line_missing:
            return
        if chance.random() < faults.line_failed:
            status, body = 500, {"error": {"message": "The server had an error", "code": "internal_error"}}
        else:
            status, body = await self._work(line["body"], headers_of(request))
        reply = {"custom_id": request, "response": {"status_code": status, "body": body}, "error": None}
        replies = batch.replies["output" if status == 200 else "error"]
        replies.append(reply)
        if chance.random() < faults.line_repeated:
            replies.append(reply)

    def _finish(self, batch: Batch, status: str) -> None:
        replied = {reply["custom_id"] for replies in batch.replies.values() for reply in replies}
        if status != "completed":
            code = f"batch_{status}"
            batch.replies["error"] += [
                {"custom_id": line["custom_id"], "response": None, "error": {"code": code, "message": code}}
                for line in batch.lines
                if line["custom_id"] not in replied
            ]
        for kind, replies in batch.replies.items():
            if replies:
                content = "".join(json.dumps(reply, ensure_ascii=False) + "\n" for reply in replies)
                batch.told[f"{kind}_file_id"] = self._keep(content.encode())
        batch.told["request_counts"] |= {
            "completed": len({reply["custom_id"] for reply in batch.replies["output"]}),
            "failed": len({reply["custom_id"] for reply in batch.replies["error"]}),
        }
        batch.told["status"] = status


def headers_of(request: str) -> dict[str, str]:
    """Returns the headers that a request would have alone: our own ids name the prompt and the seed."""
    prompt, *rest = request.rsplit(".", 2)
    return {PROMPT_HEADER: prompt, SEED_HEADER: str(int(rest[0], 16))} if len(rest) == 2 else {}


def _flaw(lines: list[dict[str, Any]]) -> str:
    if len(lines) > MOST_REQUESTS:
        return f"more than {MOST_REQUESTS:,} requests"
    if len({line["custom_id"] for line in lines}) < len(lines):
        return "a custom_id appears twice"
    return "" if all(line["url"] == "/v1/chat/completions" for line in lines) else "another url"


def _refused(status: int, message: str) -> web.Response:
    return web.json_response({"error": {"message": message, "type": "invalid_request_error"}}, status=status)
