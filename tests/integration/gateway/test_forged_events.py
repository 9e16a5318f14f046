"""The gateway's promises about events that somebody else wrote."""

from dataclasses import replace
from typing import Any

import pytest
from google.protobuf.message import Message
from prometheus_client import REGISTRY

from soliloquy.runtime.events import first_event, topic_of
from soliloquy.v1.conversation_pb2 import Conversation, Ending, Problem, Summary, TokenUse, Turn
from soliloquy.v1.events_pb2 import ConversationCollected, RunChanged, RunStanding, RunStored
from soliloquy.v1.gateway_pb2 import ListRunsRequest
from soliloquy.v1.runs_pb2 import Run, RunRequest, RunState
from soliloquy_services.gateway.service import Gateway
from tests.integration.gateway.support import opened, status_of
from tests.integration.transport.support import Connect
from tests.waiting import until

FOLLOWED = "conversation.collected"
# Sums of them are no int64.
TOKENS = {"tutor": TokenUse(prompt=2**63 - 1)}


def collected(name: str, *, summary: Summary | None = None, **fields: Any) -> ConversationCollected:
    known: dict[str, Any] = {
        "run": Run(id="others", recipe="soliloquy", max_attempts=1),
        "problem": Problem(question="How far?"),
        "ending": Ending.ENDING_SOLVED,
        "turns": [Turn(number=1)],
    }
    conversation = Conversation(id=name, **known | fields)
    return ConversationCollected(conversation=conversation, accepted=True, summary=summary or Summary(turns=1))


def _changed(**fields: Any) -> RunChanged:
    known: dict[str, Any] = {
        "request": RunRequest(recipe="soliloquy", problems="arithmetic", conversations=1),
        "requested_at": 1.0,
        "changed_at": 1.0,
        "state": RunState.RUN_STATE_CANCELLED,
    }
    return RunChanged(run=Run(id="forged", recipe="soliloquy"), **known | fields)


# Each with the reason in the log.
FORGED: dict[str, Message] = {
    "it is attempt 0 at problem -1": collected("forged", ordinal=-1),
    "at problem 9223372036854775807": collected("forged", ordinal=2**63 - 1),
    "it is attempt -2147483648": collected("forged", attempt=-(2**31)),
    "summary.turns is -1": collected("forged", summary=Summary(turns=-1)),
    "summary.tokens.prompt is 9223372036854775807": collected("forged", summary=Summary(tokens=TOKENS)),
    "it has no ending that we know": collected("forged", ending=99),
    "state is 99": _changed(state=99),
    "requested_at is inf": _changed(requested_at=float("inf")),
    "request.conversations is -1": _changed(request=RunRequest(conversations=-1)),
    "under_way is -1": RunStanding(run=Run(id="forged"), under_way=[-1]),
    "lost is -1": RunStored(run=Run(id="forged"), lost=-1),
}


@pytest.mark.parametrize("why", FORGED)
async def test_a_forged_number_is_left_out_logged_and_counted_at_each_start(
    connect: Connect, why: str, caplog: pytest.LogCaptureFixture
) -> None:
    forged: Any = FORGED[why]
    topic = topic_of(forged).name
    event = first_event(forged, source="forger", time=2.0)
    async with connect() as transport:
        # Twice, because it takes two to exceed a sum.
        honest = first_event(collected("first"), source="collector", time=2.0)
        await transport.publish([event, replace(event, id="again"), honest])
        for _ in range(2):
            before = left_out(topic)
            async with opened(transport) as gateway:
                assert [run.id for run in (await gateway.list_runs(ListRunsRequest())).runs] == ["others"]
                assert (await status_of(gateway, "others")).progress.accepted == 1
                assert left_out(topic) > before
    reasons = [record.__dict__["fields"]["error"] for record in caplog.records if "left out" in record.message]
    assert any(reason.startswith(f"{topic} cannot carry") and why in reason for reason in reasons)


async def test_a_forged_number_stops_no_gateway_that_serves(connect: Connect) -> None:
    async with connect() as transport, opened(transport) as gateway:
        before = left_out(FOLLOWED)
        forged = [collected(name, summary=Summary(tokens=TOKENS)) for name in ("one", "two")]
        live = [first_event(each, source="forger", time=3.0) for each in (*forged, collected("honest"))]
        await transport.publish(live)
        await until(lambda: _has_accepted(gateway, "others", 1))
        assert left_out(FOLLOWED) - before == len(forged)


async def test_a_forged_run_of_no_recipe_is_paused_with_the_reason(connect: Connect) -> None:
    request = RunRequest(recipe="none", problems="arithmetic", conversations=1)
    forged = _changed(request=request, state=RunState.RUN_STATE_RUNNING)
    async with connect() as transport:
        await transport.publish([first_event(forged, source="forger", time=2.0)])
        async with opened(transport) as gateway:
            await until(lambda: _is_paused(gateway, "forged"))
            assert "there is no recipe 'none'" in (await status_of(gateway, "forged")).because


async def test_pages_of_runs_with_forged_times_are_read_to_the_end(connect: Connect) -> None:
    async with connect() as transport:
        for number, time in enumerate((-1.0, 1e300, 2.0)):
            found = collected("one", run=Run(id=f"run-{number}", recipe="soliloquy", max_attempts=1))
            await transport.publish([first_event(found, source="forger", time=time)])
        async with opened(transport) as gateway:
            pages = [await gateway.list_runs(ListRunsRequest(page_size=1))]
            while token := pages[-1].next_page_token:
                pages.append(await gateway.list_runs(ListRunsRequest(page_size=1, page_token=token)))
    assert [run.id for page in pages for run in page.runs] == ["run-1", "run-2", "run-0"]


def left_out(topic: str) -> float:
    return REGISTRY.get_sample_value("soliloquy_events_passed_over_total", {"topic": topic}) or 0.0


async def _has_accepted(gateway: Gateway, run_id: str, number: int) -> bool:
    listed = (await gateway.list_runs(ListRunsRequest())).runs
    return any(run.id == run_id and run.progress.accepted >= number for run in listed)


async def _is_paused(gateway: Gateway, run_id: str) -> bool:
    return (await status_of(gateway, run_id)).state == RunState.RUN_STATE_PAUSED
