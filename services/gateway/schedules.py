"""Starts the runs of templates with a schedule, each time once, in the gateway whose turn it is."""

import asyncio
import logging
import time
from collections.abc import Awaitable, Callable
from datetime import UTC, datetime, timedelta

from soliloquy.runtime.transports.port import Unanswered
from soliloquy.v1.events_pb2 import CallAudited
from soliloquy.v1.gateway_pb2 import StartRunRequest
from soliloquy_services.gateway.access.access import CALLER
from soliloquy_services.gateway.access.tenants import TENANT
from soliloquy_services.gateway.refusals import Refusal
from soliloquy_services.gateway.runs import RunTable
from soliloquy_services.gateway.templates import Template, Templates

LOOK_SECONDS = 1.0
# A gateway that takes its turn so much later than a run's time still starts it; a later one waits for the next time.
LATE = timedelta(minutes=10)

_log = logging.getLogger(__name__)


class Schedules:
    def __init__(
        self,
        templates: Templates,
        runs: RunTable,
        start: Callable[[StartRunRequest], Awaitable[tuple[str, bool]]],
        audit: Callable[[CallAudited], None],
        clock: Callable[[], float] = time.time,
    ) -> None:
        """`start` takes what CALLER asks for, for TENANT, and begins a run once for each request id."""
        self._templates = templates
        self._runs = runs
        self._start = start
        self._audit = audit
        self._clock = clock

    async def start_always(self) -> None:
        """Starts each run when its time comes, until it is cancelled."""
        due: dict[tuple[str, str], datetime] = {}
        while True:
            now = datetime.fromtimestamp(self._clock(), UTC)
            for name, template in self._templates.current.items():
                if not template.schedule:
                    continue
                key, first = (name, template.schedule), template.next_after(now - LATE)
                at = max(due.get(key, first), first)
                # The latest of several times that have passed counts.
                while (later := template.next_after(at)) <= now:
                    at = later
                due[key] = later if at <= now and await self._is_settled(name, template, at) else at
            await asyncio.sleep(LOOK_SECONDS)

    async def _is_settled(self, name: str, template: Template, at: datetime) -> bool:
        """Starts the run of this time, unless that was done; returns False to be asked again."""
        who, request_id = f"schedule:{name}", f"{name}.{at:%Y%m%dT%H%MZ}"
        if self._runs.asked(request_id, template.tenant) is not None:
            return True
        outcome, run_id = "done", ""
        CALLER.set(who)
        TENANT.set(template.tenant)
        try:
            if going_on := self._going_on(who):
                outcome = "not_now"
                _log.warning("%s starts no run at %s: its run %s is not over", who, at, going_on)
            else:
                asked = StartRunRequest(request_id=request_id, request=template.run)
                # Each time has conversations of its own.
                asked.request.seed = asked.request.seed or int(f"{at:%Y%m%d%H%M}")
                run_id, _ = await self._start(asked)
        except Unanswered as error:
            _log.warning("%s waits to start its run: %s", who, error)
            return False
        except Refusal as refusal:
            outcome = refusal.code
            _log.error("%s starts no run at %s: %s", who, at, refusal)
        call = CallAudited(at=self._clock(), who=who, tenant=template.tenant, what="StartRun", target=run_id)
        call.outcome = outcome
        self._audit(call)
        return True

    def _going_on(self, who: str) -> str:
        """Returns the run that the schedule started before, if it is not over."""
        known = (run for run in self._runs.by_id.values() if run.is_steered and run.changed.requested_by == who)
        return next((run.id for run in known), "")
