"""A proxy of an object store that lies: `python -m tests.attack.lying_store STORE LIE SEED`, until its input ends."""

import asyncio
import random
import re
import sys
from collections.abc import Mapping
from typing import Any

import aiohttp
from aiohttp import web
from multidict import CIMultiDict

LIES = ("stale reads", "partial lists", "duplicate writes")
# How often it lies.
SHARE = 0.3
_HOP = {"transfer-encoding", "content-length", "connection", "content-encoding"}
_LISTED = re.compile(rb"<Contents>.*?</Contents>", re.DOTALL)


class LyingStore:
    def __init__(self, store: str, lie: str, seed: int) -> None:
        self._store = store
        self._lie = lie
        self._chance = random.Random(seed)
        # Of each object, the answer to a read before its latest write.
        self._before: dict[str, tuple[int, Mapping[str, str], bytes]] = {}

    async def answer(self, request: web.Request) -> web.Response:
        content, path = await request.read(), request.raw_path
        lies = self._chance.random() < SHARE
        if self._lie == "stale reads":
            if request.method == "PUT":
                self._before[path] = await self._ask("GET", path, request.headers, b"")
            elif request.method in ("GET", "HEAD") and path in self._before and lies:
                return self._response(request, *self._before[path])
        if self._lie == "duplicate writes" and request.method in ("PUT", "POST") and lies:
            await self._ask(request.method, path, request.headers, content)
        status, headers, answer = await self._ask(request.method, path, request.headers, content)
        if self._lie == "partial lists" and lies and (listed := _LISTED.findall(answer)):
            answer = answer.replace(self._chance.choice(listed), b"", 1)
        return self._response(request, status, headers, answer)

    async def _ask(
        self, method: str, path: str, headers: Mapping[str, str], content: bytes
    ) -> tuple[int, Mapping[str, str], bytes]:
        sent = {name: value for name, value in headers.items() if name.lower() not in _HOP}
        url = f"{self._store}{path}"
        async with (
            aiohttp.ClientSession(auto_decompress=False) as session,
            session.request(method, url, headers=sent, data=content, allow_redirects=False) as got,
        ):
            return got.status, got.headers, await got.read()

    def _response(self, request: web.Request, status: int, headers: Mapping[str, str], content: bytes) -> web.Response:
        kept = CIMultiDict({name: value for name, value in headers.items() if name.lower() not in _HOP})
        if request.method == "HEAD":
            # It has no body, and its length is that of the object.
            kept["content-length"] = headers.get("content-length", str(len(content)))
        return web.Response(status=status, headers=kept, body=content if request.method != "HEAD" else None)


async def _main(store: str, lie: str, seed: int) -> None:
    app: Any = web.Application(client_max_size=2**30)
    app.router.add_route("*", "/{path:.*}", LyingStore(store, lie, seed).answer)
    runner = web.AppRunner(app)
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", 0)
    await site.start()
    print(f"http://127.0.0.1:{runner.addresses[0][1]}", flush=True)
    await asyncio.to_thread(sys.stdin.read)
    await runner.cleanup()


if __name__ == "__main__":
    asyncio.run(_main(sys.argv[1], sys.argv[2], int(sys.argv[3])))
