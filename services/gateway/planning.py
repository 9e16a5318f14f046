"""Plans a run: its identity, its problems and its forecast, which a former run tells where one is alike."""

from collections.abc import Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Protocol

from soliloquy.recipes.prompts import spoken_prompts
from soliloquy.runtime.transports.port import Transport
from soliloquy.v1.conversation_pb2 import Conversation, Problem
from soliloquy.v1.gateway_pb2 import FinishedConversation, RunForecast
from soliloquy.v1.runs_pb2 import Run, RunRequest, RunState
from soliloquy_services.gateway.datasets import read_conversation
from soliloquy_services.gateway.refusals import Refusal
from soliloquy_services.gateway.runs import KnownRun
from soliloquy_services.gateway.store import Store


class Problems(Protocol):
    def problem(self, run_seed: int, ordinal: int) -> Problem:
        """Returns the problem at a place in a run: the same at every call, on every machine."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Offered:
    """A bank or a file that a run may take its problems from."""

    name: str
    kind: str


@dataclass(frozen=True, kw_only=True, slots=True)
class CheckedFile:
    # As a run calls it; empty for a file with faults, which is not kept.
    name: str
    problems: int
    # By line: all faults, and the numbers that rest on nothing.
    faults: Sequence[str]
    open: Sequence[str]


@dataclass(frozen=True, kw_only=True, slots=True)
class FormerRun:
    id: str
    in_flight: int
    # The finished ones of its first problems, ordered by problem.
    conversations: Sequence[FinishedConversation]
    # The first accepted one, where it can be read.
    first: Conversation | None


class Planning(Protocol):
    """Calls may take long, because they read problem files. They raise a Refusal for a request that cannot be run.

    A tenant may take its problems from files of its own, besides those that are everybody's.
    """

    def run(self, request: RunRequest, execution: str, tenant: str) -> Run: ...

    def problems(self, request: RunRequest, tenant: str) -> Problems: ...

    async def forecast(self, request: RunRequest, tenant: str, former: FormerRun | None) -> RunForecast:
        """Says what a run would take, from a former one or a rehearsal."""

    def add(self, name: str, text: str, tenant: str, language: str = "") -> CheckedFile:
        """Keeps a problem file of the tenant's, if it has no faults."""

    def offered(self, tenant: str) -> Sequence[Offered]: ...

    async def differences(self, transport: Transport) -> str:
        """Says which services differ from what a run is told; empty if none does."""


# Fewer accepted conversations than a pilot of `generate --dry-run` tell little.
LEAST_ACCEPTED = 10
# A run that was cancelled has dropped its long conversations, and one under way has not finished them.
_WHOLE = (RunState.RUN_STATE_FINISHED, RunState.RUN_STATE_SHORT)


def most_alike(runs: Iterable[KnownRun], request: RunRequest, model: str) -> KnownRun | None:
    """Returns the latest run of conversations like the requested ones, of the same problems if there is one."""

    def is_alike(known: KnownRun) -> bool:
        changed = known.changed
        return (
            changed.state in _WHOLE
            and known.progress.accepted >= LEAST_ACCEPTED
            and changed.model == model
            and (changed.request.recipe, changed.request.enrich) == (request.recipe, request.enrich)
            and changed.request.language == request.language
            and changed.run.prompts == spoken_prompts(request.recipe, request.language) | dict(request.prompts)
        )

    return max(
        filter(is_alike, runs),
        key=lambda known: (known.changed.request.problems == request.problems, known.changed.changed_at),
        default=None,
    )


async def former_run(known: KnownRun, store: Store, transport: Transport, datasets: str | None) -> FormerRun | None:
    """Returns None for a run whose conversations tell nothing."""
    found = await store.call(store.index.beginning, known.id)
    accepted = [one for one in found if one.accepted]
    # Collectors of earlier versions did not count calls.
    if not accepted or not all(one.summary.calls or one.summary.enrichment.calls for one in accepted):
        return None
    entry = await store.call(store.index.find, known.id, accepted[0].id)
    assert entry, "it is in the index"
    first = None
    with suppress(Refusal):
        first = await read_conversation(entry, transport, datasets)
    return FormerRun(id=known.id, in_flight=known.changed.run.in_flight, conversations=found, first=first)
