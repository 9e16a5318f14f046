"""The boundary behind which weights are run: token ids in, token ids out; templates and text stay above it."""

from collections.abc import AsyncGenerator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from soliloquy.runtime.retry import Refused, Transient
from soliloquy.v1.model_pb2 import Finish, Sampling


class EngineFailed(Transient):
    """The engine could not go on with a request that another replica, or a later try, may answer."""


class EngineBusy(EngineFailed):
    """As many requests wait as may."""


class EngineRefused(Refused):
    """The request cannot be run as it stands, now or later: what it asks for is one of the kinds below."""


class InvalidRequest(EngineRefused):
    """A schema that cannot compile, sampling that makes no sense, more tokens than the limit."""


class TooLong(EngineRefused):
    """The prompt, or what it asks for on top of it, does not fit the context."""


class UnknownAdapter(EngineRefused):
    """No adapter of that name is loaded."""


class MissingWeights(EngineRefused):
    """A folder does not hold the weights that it was named for."""


class WrongBase(EngineRefused):
    """An adapter that was trained on another base model than the one at hand."""


@dataclass(frozen=True, kw_only=True, slots=True)
class TokenRequest:
    # Of all requests under way, only this one's.
    id: str
    tokens: Sequence[int]
    # Empty for the base model alone.
    adapter: str
    sampling: Sampling
    seed: int
    # What the answer is held to, token by token; empty for free text.
    json_schema: str


@dataclass(frozen=True, kw_only=True, slots=True)
class TokenDelta:
    # Without the one that says that the answer is at its end.
    tokens: Sequence[int]
    # Set in the last one only.
    finish: Finish = Finish.FINISH_UNSPECIFIED


@dataclass(frozen=True, kw_only=True, slots=True)
class EngineStats:
    running: int
    waiting: int
    generated_tokens: int
    adapters: Sequence[str]


class Engine(Protocol):
    # As completions and metrics name it, and the version of the library that does the work.
    name: str
    version: str

    async def start(self) -> None:
        """Returns when requests can be answered."""

    async def stop(self) -> None: ...

    @property
    def fault(self) -> str:
        """Why it answers nobody, in a line; empty while it does: one that stands still with work at hand has one."""

    @property
    def context_tokens(self) -> int:
        """The most that a prompt and its answer may have together; known once it has started."""

    def stats(self) -> EngineStats: ...

    def generate(self, request: TokenRequest) -> AsyncGenerator[TokenDelta, None]:
        """Closing the iterator aborts the request."""

    async def load_adapter(self, name: str, path: Path) -> None:
        """Loading what is loaded replaces it for requests to come; those that run keep what they began with."""

    async def unload_adapter(self, name: str) -> None: ...
