"""Records each request with its answer: the same request to the same model gets the same answer again."""

import fcntl
import hashlib
import json
import re
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from copy import deepcopy
from pathlib import Path

from google.protobuf.json_format import MessageToDict, ParseDict, ParseError

from soliloquy.runtime.failure import Failure
from soliloquy.runtime.model import StreamingModel, StreamListener, metrics
from soliloquy.runtime.model.settings import Endpoint
from soliloquy.runtime.retry import CannotServe
from soliloquy.runtime.traces import spans
from soliloquy.v1.model_pb2 import Completion, Finish, GenerateRequest

FILE = "answers.jsonl"
# Finds a line's key without parsing the rest.
_LINE = re.compile(rb'\{"key": "([0-9a-f]{32})", .*\}\n', re.DOTALL)


class Recording:
    """One file of whole lines, to which any number of processes append. A look-up takes 0.1 ms."""

    def __init__(self, folder: Path) -> None:
        self._path = folder / FILE
        # The end of the last whole line that was read, and the place of each line.
        self._end = 0
        self._places: dict[str, tuple[int, int]] = {}
        with self._reporting():
            folder.mkdir(parents=True, exist_ok=True)
            self._appended = self._path.open("ab", buffering=0)
            self._lines = self._path.open("rb")
            try:
                self._look()
            except BaseException:
                self.close()
                raise

    def find(self, key: str) -> Completion | None:
        with self._reporting():
            if key not in self._places:
                self._look()
            if (place := self._places.get(key)) is None:
                return None
            start, length = place
            self._lines.seek(start)
            return ParseDict(json.loads(self._lines.read(length))["answer"], Completion(), ignore_unknown_fields=True)

    def keep(self, key: str, request: GenerateRequest, answer: Completion) -> None:
        told = (MessageToDict(one, preserving_proto_field_name=True) for one in (request, answer))
        content = dict(zip(("key", "request", "answer"), (key, *told), strict=True))
        line = json.dumps(content, ensure_ascii=False).encode() + b"\n"
        with self._reporting(), self._alone():
            self._look()
            if key in self._places:
                return
            # A process that was killed may have left a part of a line.
            self._appended.truncate(self._end)
            try:
                rest = memoryview(line)
                while rest:
                    rest = rest[self._appended.write(rest) or 0 :]
            except OSError:
                self._appended.truncate(self._end)
                raise

    def close(self) -> None:
        self._appended.close()
        self._lines.close()

    def _look(self) -> None:
        """Finds the lines that were added since, by whichever process."""
        self._lines.seek(self._end)
        for line in self._lines:
            if not line.endswith(b"\n"):
                return
            if (found := _LINE.fullmatch(line)) is None:
                raise ValueError(f"byte {self._end} begins no recorded answer")
            self._places.setdefault(found[1].decode(), (self._end, len(line)))
            self._end += len(line)

    @contextmanager
    def _alone(self) -> Iterator[None]:
        fcntl.flock(self._appended, fcntl.LOCK_EX)
        try:
            yield
        finally:
            fcntl.flock(self._appended, fcntl.LOCK_UN)

    @contextmanager
    def _reporting(self) -> Iterator[None]:
        try:
            yield
        except (OSError, ValueError, KeyError, ParseError) as error:
            raise CannotServe(
                f"{self._path} cannot be used ({error}): make room, or choose another --record"
            ) from error


def recorded_answers(folder: Path) -> Iterator[tuple[GenerateRequest, Completion]]:
    """Yields the requests of a recording with their answers; raises Failure for a line that holds none."""
    with (folder / FILE).open("rb") as lines:
        for number, line in enumerate(lines, start=1):
            if not line.endswith(b"\n"):
                # Its process was killed while it wrote.
                return
            try:
                told = json.loads(line)
                request = ParseDict(told["request"], GenerateRequest(), ignore_unknown_fields=True)
                yield request, ParseDict(told["answer"], Completion(), ignore_unknown_fields=True)
            except (ValueError, KeyError, TypeError, ParseError) as error:
                raise Failure(
                    f"{folder / FILE}, line {number}: no recorded answer ({error}): remove the line"
                ) from error


class RecordedModel:
    def __init__(
        self,
        model: StreamingModel,
        name: str,
        endpoint: Endpoint,
        identify: Callable[[str], Awaitable[str]],
        recording: Recording,
    ) -> None:
        """`identify` tells, by an adapter's name or none, which weights answer; empty if that is unknown."""
        self._model = model
        self._name = name
        self._identify = identify
        self._recording = recording
        self._endpoint_key = f"{endpoint.engine}\n{endpoint.model}\n{endpoint.schema}\n"

    async def generate(self, request: GenerateRequest, stream_listener: StreamListener | None = None) -> Completion:
        """The key is who answers and the whole request except its id: messages, schema, sampling, seed and adapter.

        An answer that the model has finished also answers requests with room for more tokens.
        """
        identity = await self._identify(request.adapter)
        if not identity:
            return await self._model.generate(request, stream_listener)
        asked = _told(request)
        exact, any_room = self._keys(asked, identity)
        recorded = self._recording.find(any_room)
        if not recorded or 0 < request.sampling.max_tokens < recorded.completion_tokens:
            recorded = self._recording.find(exact)
        if recorded:
            metrics.CALLS.labels(self._name, request.role, "cached").inc()
            spans.note(outcome="cached")
            return recorded
        answer = await self._model.generate(request, stream_listener)
        finished = all(sample.finish == Finish.FINISH_STOP for sample in (answer, *answer.more))
        # Other weights may have come into service while the call waited.
        if await self._identify(request.adapter) == identity:
            self._recording.keep(any_room if finished else exact, asked, answer)
        return answer

    def _keys(self, asked: GenerateRequest, identity: str) -> tuple[str, str]:
        """Returns the key of the request, and the key that it shares with requests for more or fewer tokens."""
        keyed = deepcopy(asked)
        exact = self._digest(keyed, identity)
        keyed.sampling.ClearField("max_tokens")
        keyed.ClearField("extra_room")
        return exact, self._digest(keyed, identity)

    def _digest(self, keyed: GenerateRequest, identity: str) -> str:
        content = f"{self._endpoint_key}{identity}\n".encode() + keyed.SerializeToString(deterministic=True)
        return hashlib.blake2b(content, digest_size=16).hexdigest()


def _told(request: GenerateRequest) -> GenerateRequest:
    """Returns what the model is told of a request."""
    asked = deepcopy(request)
    # Models whose answers are recorded do not read the record, and the draw has chosen what is in the key.
    for name in ("id", "record", "draw_key"):
        asked.ClearField(name)
    return asked
