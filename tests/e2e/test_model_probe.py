"""`soliloquy model probe` tells what an endpoint can do, and its settings run."""

import json
from pathlib import Path

from soliloquy.standin.speakers import speakers_of
from tests.e2e.hosted import fake
from tests.e2e.runs import SOLILOQUY, grown, one_line, said


def test_each_prompt_is_shown_with_its_answer_and_how_it_was_read_and_the_settings_run(tmp_path: Path) -> None:
    settings = tmp_path / "models.toml"
    probe = [SOLILOQUY, "model", "probe", "--model-name", "scripted", "--json", "--out", str(settings)]
    with fake() as url:
        told = said([*probe, "--base-url", url])
        assert told.returncode == 0, told.stderr
        assert grown(tmp_path / "dataset", conversations=1, model_settings=settings)["accepted"] == 1
    found = json.loads(told.stdout)
    assert found["settings"] == settings.read_text("utf-8")
    assert found["facts"]["seeds"] == "honoured"
    assert found["facts"]["streaming"].startswith("yes, ")
    assert found["facts"]["refuses"] == []
    # Nobody reads what speakers say that they claim.
    assert {prompt["prompt"] for prompt in found["prompts"]} == set(speakers_of("soliloquy")) - {"soliloquy/reader"}
    assert {prompt["outcome"] for prompt in found["prompts"]} == {"strict"}
    assert {prompt["schema"] for prompt in found["prompts"]} == {"a strict schema (whole)"}
    assert all(prompt["answers"] and prompt["prompt_tokens"] for prompt in found["prompts"])


def test_an_endpoint_that_is_gone_is_one_line() -> None:
    told = said([SOLILOQUY, "model", "probe", "--base-url", "http://127.0.0.1:1/v1", "--model-name", "scripted"])
    assert "cannot connect to 127.0.0.1:1" in one_line(told)
