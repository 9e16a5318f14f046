"""Runs about problems of one's own, from the folder that the gateway was given."""

import json
from functools import partial
from pathlib import Path

import pytest
from soliloquy.v1.gateway_pb2 import ResumeRunRequest, StartRunRequest
from soliloquy.v1.runs_pb2 import RunRequest, RunState

from services.cli.gateway_plans import Plans
from services.gateway.refusals import Code, Refusal
from services.gateway.service import Gateway
from services.gateway.settings import GatewaySettings
from services.runtime.model.settings import shipped_models
from tests.integration.gateway.support import Collecting, growing, status_of
from tests.integration.transport.embedded import connect as open_log
from tests.integration.transport.support import Connect, until

ROWS = [{"question": f"What is {number} + 3?", "solution": f"{number} + 3 = {number + 3}"} for number in range(3)]


@pytest.fixture
def connect(tmp_path: Path) -> Connect:
    return partial(open_log, str(tmp_path / "events.db"))


@pytest.fixture
def plans(tmp_path: Path) -> Plans:
    folder = tmp_path / "problems"
    folder.mkdir()
    (folder / "mine.jsonl").write_text("".join(f"{json.dumps(row)}\n" for row in ROWS), "utf-8")
    (folder / "broken.jsonl").write_text("no JSON\n", "utf-8")
    (folder / ".hidden.jsonl").write_text("", "utf-8")
    (tmp_path / "outside.jsonl").write_text(json.dumps(ROWS[0]), "utf-8")
    return Plans(models=shipped_models(), noise="none", files=folder)


def asked(problems: str) -> StartRunRequest:
    request = RunRequest(recipe="soliloquy", problems=problems, conversations=5)
    return StartRunRequest(request=request, request_id="one")


@pytest.mark.parametrize("name", ["", ".", "..", "../outside.jsonl", "/etc/hostname", ".hidden.jsonl", "mine.jsonl\0"])
async def test_only_names_of_the_folder_are_files(connect: Connect, plans: Plans, name: str) -> None:
    async with connect() as transport:
        gateway = Gateway(transport, plans, GatewaySettings())
        async with gateway.at_work():
            with pytest.raises(Refusal, match="problems cannot be") as refused:
                await gateway.start_run(asked(name))
    assert refused.value.code == Code.INVALID
    assert "broken.jsonl, mine.jsonl" in refused.value.message


async def test_a_broken_file_is_refused_by_its_line(connect: Connect, plans: Plans) -> None:
    async with connect() as transport:
        gateway = Gateway(transport, plans, GatewaySettings())
        async with gateway.at_work():
            with pytest.raises(Refusal, match=r"problems 'broken.jsonl' cannot be read \(broken.jsonl:1: "):
                await gateway.start_run(asked("broken.jsonl"))


async def test_a_run_whose_file_is_gone_is_paused_and_goes_on_when_it_is_back(connect: Connect, plans: Plans) -> None:
    assert plans.files
    file = plans.files / "mine.jsonl"
    content = file.read_bytes()
    collecting = Collecting()
    async with connect() as transport:
        gateway = Gateway(transport, plans, GatewaySettings())
        async with gateway.at_work():
            run = await gateway.start_run(asked("mine.jsonl"))
        file.unlink()
        gateway = Gateway(transport, plans, GatewaySettings())
        async with growing(transport, collecting), gateway.at_work():

            async def paused() -> bool:
                return (await status_of(gateway, run.id)).state == RunState.RUN_STATE_PAUSED

            await until(paused)
            assert "problems cannot be 'mine.jsonl'" in (await status_of(gateway, run.id)).because
            file.write_bytes(content)
            assert not (await gateway.resume_run(ResumeRunRequest(run=run.id))).because

            async def finished() -> bool:
                return (await status_of(gateway, run.id)).state == RunState.RUN_STATE_FINISHED

            await until(finished)
    # The file's first problem comes again after its last.
    assert sorted(collecting.seen) == [(ordinal, 0) for ordinal in range(5)]
