"""Runs that have been over for long are deleted by themselves, where the gateway is told to."""

import pytest

from soliloquy.v1.gateway_pb2 import ListRunsRequest
from soliloquy.v1.runs_pb2 import RunState
from soliloquy_services.gateway.service import Gateway
from soliloquy_services.gateway.settings import GatewaySettings
from tests.integration.gateway.contract import last_of
from tests.integration.gateway.support import Collecting, asked, growing, opened
from tests.integration.transport.support import Connect
from tests.waiting import until


async def listed(gateway: Gateway) -> list[str]:
    return [one.id for one in (await gateway.list_runs(ListRunsRequest())).runs]


async def test_a_run_goes_some_days_after_its_end_and_one_that_is_not_over_stays(
    connect: Connect, monkeypatch: pytest.MonkeyPatch
) -> None:
    day = "soliloquy_services.gateway.deletion.DAY_SECONDS"
    collecting = Collecting()
    settings = GatewaySettings(delete_runs_after=2)
    async with connect() as transport, growing(transport, collecting), opened(transport, settings) as gateway:
        ended = await gateway.start_run(asked("one"))
        assert (await last_of(gateway, ended.id)).state == RunState.RUN_STATE_FINISHED
        collecting.open.clear()
        going = await gateway.start_run(asked("two"))
        await gateway._deletion.go_on()
        assert set(await listed(gateway)) == {ended.id, going.id}
        monkeypatch.setattr(day, -1)

        async def is_alone() -> bool:
            return await listed(gateway) == [going.id]

        await until(is_alone)
        collecting.open.set()
