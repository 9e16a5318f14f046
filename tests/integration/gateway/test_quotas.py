"""A gateway with a file of quotas: runs have their shares, say why they wait, and end with all their conversations."""

import time
from pathlib import Path

from soliloquy.runtime.events import first_event
from soliloquy.runtime.reading import messages
from soliloquy.runtime.transports.embedded import EmbeddedTransport
from soliloquy.v1.events_pb2 import RunHeld
from soliloquy.v1.runs_pb2 import Run
from soliloquy_services.gateway.settings import GatewaySettings
from tests.integration.gateway.contract import FINISHED, last_of, under_way
from tests.integration.gateway.support import Collecting, asked, growing, opened, status_of
from tests.waiting import until


async def test_a_run_has_its_share_says_so_and_finishes_once_it_has_more(tmp_path: Path) -> None:
    quotas = tmp_path / "quotas.toml"
    quotas.write_text("in_flight = 3\n", "utf-8")
    collecting = Collecting()
    collecting.open.clear()
    settings = GatewaySettings(quotas=quotas)
    async with (
        EmbeddedTransport(tmp_path / "log.sqlite") as transport,
        growing(transport, collecting),
        opened(transport, settings) as gateway,
    ):
        urgent = asked("urgent", conversations=20)
        urgent.request.in_flight, urgent.request.priority = 2, 5
        first = await gateway.start_run(asked("first", conversations=20))
        await until(lambda: under_way(gateway, first.id, 3))

        async def waits(run_id: str, why: str) -> bool:
            return (await status_of(gateway, run_id)).because == why

        await until(lambda: waits(first.id, "other runs leave it 3 conversations in flight for now"))
        second = await gateway.start_run(urgent)
        await until(lambda: waits(first.id, "other runs leave it 1 conversations in flight for now"))
        assert await under_way(gateway, second.id, 0)
        quotas.write_text("in_flight = 5\n", "utf-8")
        await until(lambda: under_way(gateway, second.id, 2))
        assert await under_way(gateway, first.id, 3)
        collecting.open.set()
        for run in (first, second):
            last = await last_of(gateway, run.id)
            assert (last.state, last.progress.accepted, last.because) == (FINISHED, 20, "")
    assert len(collecting.seen) == 40


async def test_the_student_is_told_again_what_a_gateway_that_was_overtaken_told_it_late(tmp_path: Path) -> None:
    collecting = Collecting()
    collecting.open.clear()
    quotas = tmp_path / "quotas.toml"
    quotas.write_text("", "utf-8")
    async with (
        EmbeddedTransport(tmp_path / "log.sqlite") as transport,
        growing(transport, collecting),
        opened(transport, GatewaySettings(quotas=quotas)) as gateway,
    ):
        run = await gateway.start_run(asked(conversations=20))
        await until(lambda: under_way(gateway, run.id, 4))

        async def told() -> list[int | None]:
            rows = [held async for _, held in messages(transport.read("run.held"))]
            return [held.first if held.HasField("first") else None for held in rows if isinstance(held, RunHeld)]

        async def is_told(first: int | None) -> bool:
            return (await told())[-1:] == [first]

        quotas.write_text("in_flight = 3\n", "utf-8")
        await until(lambda: is_told(3))
        identity, _, growing_id = run.id.rpartition("-")
        for late in (RunHeld(first=0), RunHeld()):
            late.run.CopyFrom(Run(id=identity, growing=growing_id))
            await transport.publish([first_event(late, source="test", time=time.time())])
            await until(lambda: is_told(3))
        quotas.write_text("in_flight = 4\n", "utf-8")
        await until(lambda: is_told(None))
