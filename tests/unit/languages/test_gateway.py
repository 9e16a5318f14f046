"""A gateway plans a run in German as `generate --language de` does."""

from pathlib import Path

import pytest

from soliloquy.recipes.prompts import changed_in, spoken_prompts
from soliloquy.runs.gateway import Plans
from soliloquy.runtime.model.settings import Endpoint
from soliloquy.runtime.model.settings_file import shipped_models
from soliloquy.v1.runs_pb2 import RunRequest
from soliloquy_services.gateway.refusals import Refusal
from tests.unit.languages.test_german_conversations import PROBLEM
from tests.unit.scripted.growing import DESK

HOSTED = Endpoint(engine="openai", base_url="http://127.0.0.1:9/v1", model="x")


def _request(problems: str) -> RunRequest:
    request = RunRequest(recipe="scaffold", problems=problems, conversations=2, language="de", max_turns=9)
    request.prompts["planning_again.txt"] = "Noch einmal: $reason\n"
    return request


async def test_a_run_of_a_gateway_has_the_prompts_and_problems_of_its_language(tmp_path: Path) -> None:
    (tmp_path / "auto.jsonl").write_text(PROBLEM.model_dump_json(exclude_defaults=True), "utf-8")
    hosted = Plans(models=shipped_models().only_at(HOSTED), noise="none", files=tmp_path, sandbox=DESK)
    run = hosted.run(_request("auto.jsonl"), "one", "")
    assert run.language == "de"
    own = {"planning_again.txt": "Noch einmal: $reason\n"}
    assert run.prompts == spoken_prompts("scaffold", "de") | own
    assert changed_in(run) == ["planning_again.txt"]
    assert hosted.problems(_request("auto.jsonl"), "").problem(1, 0).language == "de"
    sent = PROBLEM.model_copy(update={"solution": "2,5 h · 81 km/h = 212,5 km"}).model_dump_json(exclude_defaults=True)
    assert hosted.add("auto2.jsonl", sent, "", "de").faults == [
        "1: solution: '2.5 h · 81 km/h = 212.5 km' is false: it is 202.5 km"
    ]
    with pytest.raises(Refusal, match="the problems of the bank physics are English"):
        hosted.problems(_request("physics"), "")
    with pytest.raises(Refusal, match="the scripted model cannot play them: it speaks English, not de"):
        await hosted.forecast(_request("auto.jsonl"), "", None)
    scripted = Plans(models=shipped_models(), noise="none", files=tmp_path)
    with pytest.raises(Refusal, match="the scripted model speaks English"):
        scripted.run(_request("auto.jsonl"), "one", "")
