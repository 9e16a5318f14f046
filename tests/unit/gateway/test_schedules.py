"""Schedules start each run at its time, once, and say so where they cannot."""

import asyncio
from collections.abc import AsyncIterator
from datetime import UTC, datetime
from pathlib import Path

import pytest

from soliloquy.runtime.model.settings_file import shipped_models
from soliloquy.runtime.transports.port import Unanswered
from soliloquy.v1.events_pb2 import CallAudited, RunChanged
from soliloquy.v1.gateway_pb2 import StartRunRequest
from soliloquy.v1.runs_pb2 import Run, RunState
from soliloquy_services.gateway import schedules
from soliloquy_services.gateway.access.access import CALLER
from soliloquy_services.gateway.refusals import Code, Refusal
from soliloquy_services.gateway.runs import KnownRun, RunTable
from soliloquy_services.gateway.schedules import Schedules
from soliloquy_services.gateway.templates import Templates
from tests.waiting import until

NIGHTLY = """[template.nightly]
schedule = "0 3 * * *"
run = {recipe = "soliloquy", problems = "arithmetic", conversations = 3}
"""
AT_THREE = datetime(2030, 5, 2, 3, tzinfo=UTC).timestamp()
DAY = 86_400.0


class Gateway:
    """Starts what the schedules ask for, at a time that the test says."""

    def __init__(self, file: Path) -> None:
        self.now = AT_THREE - 60
        self.answers: list[Exception] = []
        self.runs = RunTable(shipped_models(), list)
        self.told: list[CallAudited] = []
        self.asked: list[StartRunRequest] = []
        self.schedules = Schedules(Templates(file), self.runs, self._start, self.told.append, lambda: self.now)

    async def _start(self, asked: StartRunRequest) -> tuple[str, bool]:
        if self.answers:
            raise self.answers.pop(0)
        self.asked.append(asked)
        self.turned(asked, RunState.RUN_STATE_RUNNING)
        return asked.request_id, True

    def turned(self, asked: StartRunRequest, state: RunState) -> None:
        run = Run(id=asked.request_id, growing="g")
        changed = RunChanged(run=run, request_id=asked.request_id, requested_by=CALLER.get(), state=state)
        if known := self.runs.by_id.get(f"{run.id}-g"):
            changed.requested_by = known.changed.requested_by
        self.runs.take(f"{run.id}-g", KnownRun(changed=changed))

    async def looked(self) -> None:
        """Until the schedules have looked at this time."""
        await asyncio.sleep(10 * schedules.LOOK_SECONDS)

    @property
    def outcomes(self) -> list[str]:
        return [call.outcome for call in self.told]


@pytest.fixture
async def gateway(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Gateway]:
    monkeypatch.setattr(schedules, "LOOK_SECONDS", 0.005)
    (tmp_path / "templates.toml").write_text(NIGHTLY, "utf-8")
    made = Gateway(tmp_path / "templates.toml")
    working = asyncio.create_task(made.schedules.start_always())
    yield made
    working.cancel()


async def test_a_run_starts_at_its_time_and_each_has_a_seed_of_its_own(gateway: Gateway) -> None:
    await gateway.looked()
    assert gateway.asked == []
    for day in range(2):
        gateway.now = AT_THREE + day * DAY + 1
        await until(lambda: len(gateway.asked) > day)  # noqa: B023
        gateway.turned(gateway.asked[day], RunState.RUN_STATE_FINISHED)
    assert [asked.request_id for asked in gateway.asked] == ["nightly.20300502T0300Z", "nightly.20300503T0300Z"]
    assert [asked.request.seed for asked in gateway.asked] == [203005020300, 203005030300]
    assert [(call.who, call.what, call.outcome) for call in gateway.told] == [
        ("schedule:nightly", "StartRun", "done")
    ] * 2


async def test_nothing_starts_while_the_former_run_goes_on(gateway: Gateway) -> None:
    gateway.now = AT_THREE
    await until(lambda: gateway.asked)
    gateway.now += DAY
    await until(lambda: len(gateway.told) == 2)
    assert (len(gateway.asked), gateway.outcomes) == (1, ["done", "not_now"])


async def test_a_late_start_takes_the_latest_time_and_none_that_is_long_past(gateway: Gateway) -> None:
    await gateway.looked()
    # As when the machine was suspended.
    gateway.now = AT_THREE + 3 * DAY + 601
    await gateway.looked()
    assert gateway.told == []
    gateway.now = AT_THREE + 5 * DAY + 1
    await until(lambda: gateway.asked)
    await gateway.looked()
    assert [asked.request_id for asked in gateway.asked] == ["nightly.20300507T0300Z"]


async def test_a_database_without_an_answer_is_asked_again_and_a_refusal_is_final(gateway: Gateway) -> None:
    gateway.answers = [Unanswered("the database is away"), Refusal(Code.INVALID, "there are no such problems")]
    gateway.now = AT_THREE
    await until(lambda: gateway.told)
    await gateway.looked()
    assert (gateway.asked, gateway.answers, gateway.outcomes) == ([], [], ["invalid"])
