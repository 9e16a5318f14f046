"""Gets the identity, the problems and the forecast of a run."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from soliloquy.runtime.transports.port import Transport
from soliloquy.v1.conversation_pb2 import Conversation, Problem
from soliloquy.v1.gateway_pb2 import FinishedConversation, RunForecast, StartRunRequest
from soliloquy.v1.runs_pb2 import Run, RunRequest, RunState
from soliloquy_services.gateway.datasets import read_conversation
from soliloquy_services.gateway.index import Index
from soliloquy_services.gateway.runs import KnownRun, RunTable
from soliloquy_services.gateway.settings import GatewaySettings
from soliloquy_services.gateway.validation import Code, Refusal, validated


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


# Fewer accepted conversations than a pilot of `generate --dry-run` tell little; more problems change nothing.
LEAST_ACCEPTED = 10
MOST_PROBLEMS = 200
# A run that was cancelled has dropped its long conversations, and one under way has not finished them.
_WHOLE = (RunState.RUN_STATE_FINISHED, RunState.RUN_STATE_SHORT)


class Foretelling:
    def __init__(
        self, runs: RunTable, index: Index, planning: Planning, transport: Transport, settings: GatewaySettings
    ) -> None:
        self._runs = runs
        self._index = index
        self._planning = planning
        self._transport = transport
        self._datasets = settings.datasets
        self._model = str(settings.models.identity()["model"])

    async def forecast(self, asked: StartRunRequest) -> RunForecast:
        request = validated(asked)
        known = self._most_alike(request)
        try:
            forecast = await self._planning.forecast(request, await self._former(known) if known else None)
        except BadRequest as error:
            raise Refusal(Code.INVALID, str(error)) from error
        except NothingToTell as error:
            raise Refusal(Code.NOT_NOW, str(error)) from error
        forecast.request.CopyFrom(request)
        forecast.request.ClearField("prompts")
        return forecast

    def _most_alike(self, request: RunRequest) -> KnownRun | None:
        """Returns the latest run of conversations like the requested ones, of the same problems if there is one."""

        def is_alike(known: KnownRun) -> bool:
            changed = known.changed
            return (
                changed.state in _WHOLE
                and known.progress.accepted >= LEAST_ACCEPTED
                and changed.model == self._model
                and (changed.request.recipe, changed.request.enrich) == (request.recipe, request.enrich)
                and changed.run.prompts == request.prompts
            )

        alike = [known for known in self._runs.by_id.values() if is_alike(known)]
        return max(
            alike,
            key=lambda known: (known.changed.request.problems == request.problems, known.changed.changed_at),
            default=None,
        )

    async def _former(self, known: KnownRun) -> FormerRun | None:
        found = self._index.beginning(known.id, MOST_PROBLEMS)
        accepted = [one for one in found if one.accepted]
        # Collectors of earlier versions did not count calls.
        if not accepted or not all(one.summary.calls or one.summary.enrichment.calls for one in accepted):
            return None
        first = await self._readable(accepted[0])
        return FormerRun(id=known.id, in_flight=known.changed.run.in_flight, conversations=found, first=first)

    async def _readable(self, shown: FinishedConversation) -> Conversation | None:
        entry = self._index.find(shown.run, shown.id)
        assert entry, "it is in the index"
        try:
            return await read_conversation(entry, self._transport, self._datasets)
        except Refusal:
            return None
