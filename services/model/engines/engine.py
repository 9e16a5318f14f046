"""The interface of engines that run weights: token ids in, token ids out; templates and text stay above it."""

from collections.abc import AsyncGenerator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from soliloquy.runtime.failure import Failure
from soliloquy.runtime.retry import Refused, Transient
from soliloquy.v1.model_pb2 import Finish, Sampling

# As in OpenAI's API.
MOST_LOGPROBS = 20


class EngineFailed(Transient):
    """The engine gave up a request that another replica or a later attempt may answer."""


class EngineBusy(EngineFailed):
    """The queue of waiting requests is full."""


class EngineRefused(Failure, Refused):
    """The request can never run as it is; the subclasses say why."""


class InvalidRequest(EngineRefused):
    """The schema does not compile, the sampling is invalid, or it asks for too many tokens."""


class TooLong(EngineRefused):
    """Prompt and requested answer do not fit the context."""


class UnknownAdapter(EngineRefused):
    """No adapter of that name is loaded."""


class MissingWeights(EngineRefused):
    """A folder does not hold the expected weights."""


class WrongBase(EngineRefused):
    """The adapter was trained on another base model than the one that is loaded."""


@dataclass(frozen=True, kw_only=True, slots=True)
class TokenRequest:
    # Unique among the requests in progress.
    id: str
    tokens: Sequence[int]
    # Empty for the base model alone.
    adapter: str
    sampling: Sampling
    seed: int
    # Constrains the answer token by token; empty for free text.
    json_schema: str


@dataclass(frozen=True, kw_only=True, slots=True)
class TokenScore:
    """The natural logarithm of a token's probability, and those of the most probable ones in its place, best first."""

    token: int
    logprob: float
    top: Sequence[tuple[int, float]]


@dataclass(frozen=True, kw_only=True, slots=True)
class TokenDelta:
    # Without the end-of-answer token.
    tokens: Sequence[int]
    # One for each token where the sampling asks for log probabilities.
    scores: Sequence[TokenScore] = ()
    # One for each token of the prompt but the first, with the first tokens of the answer.
    prompt_scores: Sequence[TokenScore] = ()
    # Set only in the last delta.
    finish: Finish = Finish.FINISH_UNSPECIFIED


class Engine(Protocol):
    # The name in completions and metrics, and the version of the underlying library.
    name: str
    version: str

    async def start(self) -> None:
        """Returns when requests can be answered."""

    async def stop(self) -> None: ...

    @property
    def fault(self) -> str:
        """One line on why it cannot answer, for example because it is stuck; empty while it can."""

    @property
    def context_tokens(self) -> int:
        """The limit for a prompt and its answer together; known once the engine has started."""

    def generate(self, request: TokenRequest) -> AsyncGenerator[TokenDelta, None]:
        """Closing the iterator aborts the request; its adapter is loaded."""

    async def load_adapter(self, name: str, path: Path) -> None:
        """Replaces an adapter of the same name for new requests; running ones keep theirs."""

    async def unload_adapter(self, name: str) -> None: ...
