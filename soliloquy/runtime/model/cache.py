"""Caches answers on disk: the same request to the same model gets the same answer again."""

import hashlib
import sqlite3
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from soliloquy.runtime.model import StreamingModel, StreamListener, metrics
from soliloquy.runtime.model.settings import Endpoint
from soliloquy.runtime.retry import CannotServe
from soliloquy.runtime.traces import spans
from soliloquy.v1.model_pb2 import Completion, Finish, GenerateRequest

FILE = "answers.sqlite"
# How long to wait for another process to finish writing.
BUSY_SECONDS = 10.0


class AnswerCache:
    """One file, shared by any number of processes. A look-up takes 0.1 ms, so it runs in the event loop."""

    def __init__(self, folder: Path) -> None:
        self._path = folder / FILE
        with self._reporting():
            folder.mkdir(parents=True, exist_ok=True)
            self._file = sqlite3.connect(self._path, timeout=BUSY_SECONDS, isolation_level=None)
            self._file.execute("PRAGMA journal_mode = WAL")
            # A power cut may lose the last answers; the model gives them again.
            self._file.execute("PRAGMA synchronous = NORMAL")
            self._file.execute(
                "CREATE TABLE IF NOT EXISTS answers (request BLOB PRIMARY KEY, answer BLOB) WITHOUT ROWID"
            )

    def find(self, request: bytes) -> Completion | None:
        with self._reporting():
            row = self._file.execute("SELECT answer FROM answers WHERE request = ?", (request,)).fetchone()
        return Completion.FromString(row[0]) if row else None

    def keep(self, request: bytes, answer: Completion) -> None:
        with self._reporting():
            self._file.execute("INSERT OR IGNORE INTO answers VALUES (?, ?)", (request, answer.SerializeToString()))

    def close(self) -> None:
        self._file.close()

    @contextmanager
    def _reporting(self) -> Iterator[None]:
        try:
            yield
        except (OSError, sqlite3.Error) as error:
            raise CannotServe(
                f"{self._path} cannot be used ({error}): make room, or choose another --model-cache"
            ) from error


class CachedModel:
    def __init__(
        self,
        model: StreamingModel,
        name: str,
        endpoint: Endpoint,
        identify: Callable[[str], Awaitable[str]],
        cache: AnswerCache,
    ) -> None:
        """`identify` tells, by an adapter's name or none, which weights answer; empty if that is unknown."""
        self._model = model
        self._name = name
        self._identify = identify
        self._cache = cache
        self._endpoint_key = f"{endpoint.engine}\n{endpoint.model}\n{endpoint.schema}\n"

    async def generate(self, request: GenerateRequest, stream_listener: StreamListener | None = None) -> Completion:
        """The key is who answers and the whole request except its id: messages, schema, sampling, seed and adapter.

        An answer that the model has finished also answers requests with room for more tokens.
        """
        identity = await self._identify(request.adapter)
        if not identity:
            return await self._model.generate(request, stream_listener)
        exact, any_room = self._keys(request, identity)
        cached = self._cache.find(any_room)
        if not cached or 0 < request.sampling.max_tokens < cached.completion_tokens:
            cached = self._cache.find(exact)
        if cached:
            metrics.CALLS.labels(self._name, request.role, "cached").inc()
            spans.note(endpoint=self._name, outcome="cached")
            return cached
        answer = await self._model.generate(request, stream_listener)
        finished = all(sample.finish == Finish.FINISH_STOP for sample in (answer, *answer.more))
        # Other weights may have come into service while the call waited.
        if await self._identify(request.adapter) == identity:
            self._cache.keep(any_room if finished else exact, answer)
        return answer

    def _keys(self, request: GenerateRequest, identity: str) -> tuple[bytes, bytes]:
        """Returns the key of the request, and the key that it shares with requests for more or fewer tokens."""
        keyed = GenerateRequest()
        keyed.CopyFrom(request)
        keyed.ClearField("id")
        # Models whose answers are kept do not read it.
        keyed.ClearField("record")
        # It has chosen the endpoint and the sampling, which are in the key.
        keyed.ClearField("draw_key")
        exact = self._digest(keyed, identity)
        keyed.sampling.ClearField("max_tokens")
        keyed.ClearField("extra_room")
        return exact, self._digest(keyed, identity)

    def _digest(self, keyed: GenerateRequest, identity: str) -> bytes:
        content = f"{self._endpoint_key}{identity}\n".encode() + keyed.SerializeToString(deterministic=True)
        return hashlib.blake2b(content, digest_size=16).digest()
