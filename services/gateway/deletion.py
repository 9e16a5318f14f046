"""Deletes runs that have been over for long, and removes what is left of deleted ones."""

import logging
import time
from contextlib import suppress

from soliloquy.runtime import reading
from soliloquy.runtime.transports.port import Transport
from soliloquy_services.gateway.dead_letters import DeadLetters
from soliloquy_services.gateway.refusals import Refusal
from soliloquy_services.gateway.runs import KnownRun, RunTable
from soliloquy_services.gateway.settings import GatewaySettings
from soliloquy_services.gateway.steering import Steering
from soliloquy_services.gateway.store import Store

DAY_SECONDS = 24 * 3600

_log = logging.getLogger(__name__)


class Deletion:
    """The collector removes datasets by itself, as the topic of runs tells it to."""

    def __init__(
        self,
        runs: RunTable,
        store: Store,
        steering: Steering,
        letters: DeadLetters,
        transport: Transport,
        settings: GatewaySettings,
    ) -> None:
        self._runs = runs
        self._store = store
        self._steering = steering
        self._letters = letters
        self._transport = transport
        self._after_days = settings.delete_runs_after

    async def go_on(self) -> None:
        """Does some of what is left to do; a repeat does the rest, also after a kill. Raises Unanswered."""
        for known in list(self._runs.by_id.values()):
            if known.is_over and self._has_expired(known):
                # It may go on again by now.
                with suppress(Refusal):
                    await self._steering.delete(known)
                    _log.info("a run is deleted, as it was over for long", extra={"fields": {"run": known.id}})
            if known.is_deleted and (known.progress.ByteSize() or known.stored.ByteSize()):
                await self._store.call(self._store.forget, known.id)
        deleted = {known.id for known in self._runs.by_id.values() if known.is_deleted}
        if letters := [letter.id for letter in self._letters.chosen() if letter.run in deleted]:
            await reading.discard(self._transport, letters)
            await self._letters.refresh(at_once=True)

    def _has_expired(self, known: KnownRun) -> bool:
        days = self._after_days
        return days is not None and known.changed.changed_at + days * DAY_SECONDS < time.time()
