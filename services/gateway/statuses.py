"""The status of runs, singly and by pages, with their cost at the gateway's prices."""

import time

from services.gateway.paging import Place, page
from services.gateway.runs import KnownRun, Runs
from soliloquy.runtime.model.accounting import cost
from soliloquy.runtime.model.settings import Models
from soliloquy.v1.gateway_pb2 import ListRunsRequest, ListRunsResponse, RunStatus


class Statuses:
    def __init__(self, runs: Runs, models: Models) -> None:
        self._runs = runs
        self._models = models

    def status(self, run_id: str) -> RunStatus:
        return self._runs.status(run_id, time.time(), self._cost(self._runs[run_id]))

    def page(self, serialised: bytes) -> ListRunsResponse:
        """Takes a serialised ListRunsRequest, which is also the key of all who watch this page."""
        request = ListRunsRequest.FromString(serialised)
        chosen = [known for known in self._runs if request.state in (known.changed.state, 0)]
        rows, token = page(chosen, _place, request.page_size, request.page_token)
        return ListRunsResponse(runs=[self.status(known.id) for known in rows], next_page_token=token)

    def _cost(self, known: KnownRun) -> float:
        used = [(role, tokens) for role, tokens in known.counted().tokens.items() if role in self._models.roles]
        return sum(cost(self._models.endpoint_of(role), tokens.prompt, tokens.completion) for role, tokens in used)


def _place(known: KnownRun) -> Place:
    return known.changed.requested_at, known.id
