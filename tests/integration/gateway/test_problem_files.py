"""Runs about problems of one's own, from the folder that the gateway was given."""

import json
from pathlib import Path
from typing import Any

import pytest

from soliloquy.problems.bank.bank import load_bank
from soliloquy.runs.gateway import Plans
from soliloquy.runtime.model.settings_file import shipped_models
from soliloquy.v1.conversation_pb2 import Problem
from soliloquy.v1.gateway_pb2 import ResumeRunRequest, StartRunRequest
from soliloquy.v1.runs_pb2 import Run, RunRequest, RunState
from soliloquy_services.gateway.refusals import Code, Refusal
from soliloquy_services.gateway.service import Gateway
from soliloquy_services.gateway.settings import GatewaySettings
from tests.integration.gateway.support import PLANS, Collecting, growing, status_of
from tests.integration.transport.support import Connect
from tests.waiting import until

ROWS = [{"question": f"What is {number} + 3?", "solution": f"{number} + 3 = {number + 3}"} for number in range(3)]


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


async def test_problems_that_the_scripted_model_cannot_play_are_refused(connect: Connect, plans: Plans) -> None:
    assert plans.files
    row = {"question": "How many legs has a spider?", "solution": "A spider has eight legs.", "answer": {"value": 8}}
    (plans.files / "legs.jsonl").write_text(json.dumps(row), "utf-8")
    start = asked("legs.jsonl")
    start.request.recipe = "mathdial"
    async with connect() as transport:
        gateway = Gateway(transport, plans, GatewaySettings())
        async with gateway.at_work():
            with pytest.raises(Refusal, match="the scripted model can play none") as refused:
                await gateway.start_run(start)
    assert refused.value.code == Code.INVALID


class SpoiltPlans(Plans):
    """The third problem of a run whose seed is 13 cannot be drawn."""

    def run(self, request: RunRequest, execution: str, tenant: str) -> Run:
        return PLANS.run(request, execution, tenant)

    def problems(self, request: RunRequest, tenant: str) -> Any:
        return self

    def problem(self, run_seed: int, ordinal: int) -> Problem:
        if (run_seed, ordinal) == (13, 2):
            raise ZeroDivisionError("a triangle of no height")
        return load_bank("arithmetic").problem(run_seed, ordinal)


async def test_a_problem_that_cannot_be_drawn_holds_up_its_own_run_and_no_other(connect: Connect) -> None:
    plans = SpoiltPlans(models=shipped_models(), noise="none", files=None)
    async with connect() as transport:
        gateway = Gateway(transport, plans, GatewaySettings())
        async with growing(transport, Collecting()), gateway.at_work():
            request = RunRequest(recipe="soliloquy", problems="arithmetic", conversations=5, seed=13)
            spoilt = await gateway.start_run(StartRunRequest(request=request, request_id="spoilt"))
            sound = await gateway.start_run(asked("arithmetic"))
            await until(lambda: stands(gateway, spoilt.id, RunState.RUN_STATE_PAUSED))
            await until(lambda: stands(gateway, sound.id, RunState.RUN_STATE_FINISHED))
            because = (await status_of(gateway, spoilt.id)).because
    assert because == "problem 2 cannot be drawn (a triangle of no height): correct it and resume the run"


async def stands(gateway: Gateway, run_id: str, state: RunState) -> bool:
    return (await status_of(gateway, run_id)).state == state


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
            await until(lambda: stands(gateway, run.id, RunState.RUN_STATE_PAUSED))
            assert "problems cannot be 'mine.jsonl'" in (await status_of(gateway, run.id)).because
            file.write_bytes(content)
            assert not (await gateway.resume_run(ResumeRunRequest(run=run.id))).because
            await until(lambda: stands(gateway, run.id, RunState.RUN_STATE_FINISHED))
    # The file's first problem comes again after its last.
    assert sorted(collecting.seen) == [(ordinal, 0) for ordinal in range(5)]
