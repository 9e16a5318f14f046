"""The gateway on the embedded log."""

from pathlib import Path

from soliloquy.runtime.events import first_event
from soliloquy.v1.gateway_pb2 import ListRunsRequest
from soliloquy.v1.runs_pb2 import Run
from tests.integration.gateway.contract import GatewayContract
from tests.integration.gateway.forged import ForgedEventsContract, collected
from tests.integration.gateway.support import opened
from tests.integration.transport.embedded import connect


class TestOnTheEmbeddedLog(GatewayContract):
    pass


class TestForgedEventsOnTheEmbeddedLog(ForgedEventsContract):
    pass


async def test_pages_of_runs_with_forged_times_are_read_to_the_end(tmp_path: Path) -> None:
    async with connect(str(tmp_path / "log.db")) as transport:
        for number, time in enumerate((-1.0, 1e300, 2.0)):
            found = collected("one", run=Run(id=f"run-{number}", recipe="soliloquy", max_attempts=1))
            await transport.publish([first_event(found, source="forger", time=time)])
        async with opened(transport) as gateway:
            pages = [await gateway.list_runs(ListRunsRequest(page_size=1))]
            while token := pages[-1].next_page_token:
                pages.append(await gateway.list_runs(ListRunsRequest(page_size=1, page_token=token)))
    assert [run.id for page in pages for run in page.runs] == ["run-1", "run-2", "run-0"]
