"""A run has as many calls of one service under way as it may, and no more."""

import asyncio
from dataclasses import replace
from pathlib import Path

from soliloquy.dataset.storage import Storage
from soliloquy.runs.assembly import assembled
from soliloquy.runs.backends import MOST_WAITING, worker_assignment
from soliloquy.runs.folder import RunFolder
from soliloquy.runtime.events import Outcome, emit
from soliloquy.runtime.model.settings_file import shipped_models
from soliloquy.runtime.traces.opening import TraceSettings
from soliloquy.v1.events_pb2 import ConversationStarted, StudentReplied
from tests.integration.transport.embedded import connect
from tests.integration.transport.support import idle, serving, started
from tests.unit.runs.test_plan import plan as scripted_plan
from tests.waiting import until


async def test_a_run_of_thousands_has_1024_calls_of_a_service_under_way(tmp_path: Path) -> None:
    plan = replace(scripted_plan(shipped_models()), conversations=5_000, in_flight=5_000)
    folder = RunFolder(Storage(tmp_path), plan, None)
    folder.working.mkdir()
    assignment = worker_assignment(plan, folder, TraceSettings())
    answered, waiting, most = asyncio.Event(), 0, 0

    async def call(event: ConversationStarted) -> Outcome:
        nonlocal waiting, most
        waiting += 1
        most = max(most, waiting)
        await answered.wait()
        waiting -= 1
        return emit(StudentReplied(conversation=event.conversation))

    async with assembled(replace(assignment, services=("student",))) as assembly, connect(str(folder.log)) as log:
        await log.publish([started(f"c{number}") for number in range(MOST_WAITING + 100)])
        async with serving(replace(assembly.services[0], handlers={ConversationStarted: call}), log):
            await until(lambda: waiting == 1024)
            answered.set()
            await until(lambda: idle(log))
    assert most == 1024
