"""`soliloquy model probe` tells what an endpoint can do, and its settings run."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from soliloquy.standin.speakers import speakers_of
from tests.e2e.hosted import fake
from tests.e2e.runs import SOLILOQUY, grown, said


@pytest.fixture(scope="module")
def url() -> Iterator[str]:
    with fake() as url:
        yield url


def probed(url: str, *options: str) -> dict[str, Any]:
    told = said([SOLILOQUY, "model", "probe", "--base-url", url, "--model-name", "scripted", "--json", *options])
    assert told.returncode == 0, told.stderr
    return dict(json.loads(told.stdout))


def test_each_prompt_is_shown_with_its_answer_and_how_it_was_read(url: str) -> None:
    found = probed(url)
    assert found["facts"]["seeds"] == "honoured"
    assert found["facts"]["streaming"].startswith("yes, ")
    assert found["facts"]["refuses"] == []
    # Nobody reads what speakers say that they claim.
    assert {prompt["prompt"] for prompt in found["prompts"]} == set(speakers_of("soliloquy")) - {"soliloquy/reader"}
    assert {prompt["outcome"] for prompt in found["prompts"]} == {"strict"}
    assert {prompt["schema"] for prompt in found["prompts"]} == {"a strict schema (whole)"}
    assert all(prompt["answers"] and prompt["prompt_tokens"] for prompt in found["prompts"])


def test_the_settings_that_it_writes_run(url: str, tmp_path: Path) -> None:
    settings = tmp_path / "models.toml"
    assert probed(url, "--out", str(settings), "--recipe", "mathdial")["settings"] == settings.read_text("utf-8")
    assert grown(tmp_path / "dataset", conversations=1, model_settings=settings)["accepted"] == 1


def test_an_endpoint_that_is_gone_is_one_line() -> None:
    told = said([SOLILOQUY, "model", "probe", "--base-url", "http://127.0.0.1:1/v1", "--model-name", "scripted"])
    assert told.returncode == 2
    [line] = told.stderr.splitlines()
    assert "cannot connect to 127.0.0.1:1" in line
