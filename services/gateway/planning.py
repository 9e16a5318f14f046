"""The interface through which the gateway gets the identity and the problems of a run."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from soliloquy.v1.conversation_pb2 import Conversation, Problem
from soliloquy.v1.gateway_pb2 import FinishedConversation, RunForecast
from soliloquy.v1.runs_pb2 import Run, RunRequest


class BadRequest(Exception):
    """The request cannot be run; the message names the field, the value and what to do."""


class NothingToTell(Exception):
    """Nothing tells what a run would take; the message says why and what to do."""


class Problems(Protocol):
    def problem(self, run_seed: int, ordinal: int) -> Problem:
        """Returns the problem at a place in a run: the same at every call, on every machine."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Offered:
    """A bank or a file that a run may take its problems from."""

    name: str
    kind: str


@dataclass(frozen=True, kw_only=True, slots=True)
class FormerRun:
    id: str
    in_flight: int
    # The finished ones of its first problems, ordered by problem.
    conversations: Sequence[FinishedConversation]
    # The first accepted one, where it can be read.
    first: Conversation | None


class Planning(Protocol):
    """Calls may take long, because they read problem files."""

    def run(self, request: RunRequest, execution: str) -> Run:
        """Raises BadRequest."""

    def problems(self, request: RunRequest) -> Problems:
        """Raises BadRequest."""

    async def forecast(self, request: RunRequest, former: FormerRun | None) -> RunForecast:
        """Says what a run would take, from a former one or a rehearsal; raises BadRequest or NothingToTell."""

    def offered(self) -> Sequence[Offered]: ...
