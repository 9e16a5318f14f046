"""A gateway's promises on runs that are deleted, on every transport."""

import pytest

from soliloquy.runtime.events import message_of
from soliloquy.runtime.transports.port import Transport
from soliloquy.v1.events_pb2 import RunStanding
from soliloquy.v1.gateway_pb2 import (
    DeleteRunRequest,
    GetRunRequest,
    ListConversationsRequest,
    ListDeadLettersRequest,
    ListRunsRequest,
)
from soliloquy.v1.runs_pb2 import Run
from soliloquy_services.gateway.refusals import Code, Refusal
from soliloquy_services.gateway.service import Gateway
from tests.integration.gateway.contract import DELETED, SHORT, last_of
from tests.integration.gateway.support import Collecting, asked, growing, opened
from tests.integration.transport.support import Connect, held
from tests.waiting import until


async def gone(gateway: Gateway, run: str, other: str) -> None:
    """Nothing of the run is there, and everything of the other one."""
    known = gateway._runs.by_id
    await until(lambda: run in known and not known[run].progress.ByteSize())
    assert not (await gateway._store.call(gateway._store.index.beginning, run))
    assert not (await gateway._store.call(gateway._store.settled, run))
    assert [one.id for one in (await gateway.list_runs(ListRunsRequest())).runs] == [other]
    with pytest.raises(Refusal, match="there is no run"):
        await gateway.get_run(GetRunRequest(run=run))
    assert (await gateway.list_conversations(ListConversationsRequest(run=other))).total == 5


async def is_left_by_the_curriculum(transport: Transport, run: str) -> bool:
    latest = [one.event for one in await held(transport, "run.standing") if one.event.key == run][-1]
    name, _, growing = run.partition("-")
    return message_of(latest) == RunStanding(run=Run(id=name, growing=growing))


async def left_letters(gateway: Gateway, run: str) -> bool:
    letters = (await gateway.list_dead_letters(ListDeadLettersRequest())).letters
    return [letter.run for letter in letters] == [run]


class DeletionContract:
    """Needs a fixture `connect` that opens the same, at first empty, transport each time."""

    async def test_a_deleted_run_is_gone_with_its_dead_letters_and_no_event_brings_it_back(
        self, connect: Connect, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr("soliloquy_services.gateway.store._FORGOTTEN_AT_ONCE", 2)
        collecting = Collecting()
        collecting.broken = {1}
        async with connect() as transport, growing(transport, collecting):
            async with opened(transport) as gateway:
                run, other = await gateway.start_run(asked("one")), await gateway.start_run(asked("two"))
                with pytest.raises(Refusal, match="is running and cannot be deleted: only one that is over can"):
                    await gateway.delete_run(DeleteRunRequest(run=run.id))
                for each in (run, other):
                    assert (await last_of(gateway, each.id)).state == SHORT
                for _ in range(2):
                    assert (await gateway.delete_run(DeleteRunRequest(run=run.id))).state == DELETED
                await until(lambda: left_letters(gateway, other.id))
                await gone(gateway, run.id, other.id)
                # As if a collector had announced them once more.
                again = [one.event for one in await held(transport, "conversation.collected")]
                await transport.publish([one for one in again if one.key == run.id])
                await until(lambda: is_left_by_the_curriculum(transport, run.id))
            # Another gateway counts everything that the topics hold anew.
            async with opened(transport) as gateway:
                await gone(gateway, run.id, other.id)
                with pytest.raises(Refusal, match="which is deleted: send another id") as refused:
                    await gateway.start_run(asked("one"))
                assert refused.value.code == Code.EXISTS
