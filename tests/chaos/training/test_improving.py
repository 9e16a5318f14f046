"""Runs `soliloquy problems improve` with real weights: it writes and learns in turn, however often it is killed."""

import json
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml

from soliloquy.client import Dataset
from soliloquy.runtime.weights import ADAPTER_WEIGHTS, digest_of
from tests.e2e.runs import SOLILOQUY, journal_frames, run
from tests.integration.training.conftest import SETTINGS
from tests.integration.training.processes import losses
from tests.models import needs_torch

pytestmark = [needs_torch, pytest.mark.timeout(1200)]

PATIENCE = 300.0
_COMMAND = (sys.executable, "-c", "from soliloquy.cli.main import main; main()", "problems", "improve", "--json")
_EXAMPLE = {
    "question": "Ben has 7 kites and buys 5 more. How many kites does Ben have?",
    "solution": "def solution():\n    kites = 7\n    bought = 5\n    return kites + bought",
}


@pytest.fixture(scope="module")
def command(base: Path, tmp_path_factory: pytest.TempPathFactory) -> Callable[[Path], list[str]]:
    """Runs two rounds of training on problems of the scripted writer; returns the folder of its rounds."""
    folder = tmp_path_factory.mktemp("improving")
    config, models, examples = folder / "tune.yaml", folder / "models.toml", folder / "examples.jsonl"
    config.write_text(yaml.safe_dump(SETTINGS.model_copy(update={"max_steps": 3}).model_dump(mode="json")), "utf-8")
    models.write_text("[roles.codegen]\ntemperature = 0.7\nmax_tokens = 60\n", "utf-8")
    examples.write_text(json.dumps(_EXAMPLE), "utf-8")
    asked = ["--any-topic", "--examples", str(examples)]
    grown = run(
        [SOLILOQUY, "problems", "generate", "--n", "6", *asked, "--out", str(folder / "start.jsonl"), "--quiet"]
    )
    assert grown.returncode == 0, grown.stderr
    given = {"base": base, "config": config, "model-settings": models, "start": folder / "start"}
    named = [part for name, value in given.items() for part in (f"--{name}", str(value))]
    return lambda out: [*_COMMAND, "--rounds", "2", "--per-round", "2", *asked, *named, "--out", str(out)]


def killed_when(arguments: list[str], happened: Callable[[], object]) -> None:
    with subprocess.Popen(arguments, stdout=subprocess.DEVNULL) as process:
        deadline = time.monotonic() + PATIENCE
        while not happened():
            assert process.poll() is None, "it ended before it could be killed"
            assert time.monotonic() < deadline
            time.sleep(0.01)
        process.kill()


def test_rounds_with_real_weights_come_to_the_same_end_however_often_they_are_killed(
    command: Callable[[Path], list[str]], tmp_path: Path
) -> None:
    whole, cut = tmp_path / "whole", tmp_path / "cut"
    told: dict[str, Any] = json.loads(subprocess.run(command(whole), stdout=subprocess.PIPE, check=True).stdout)
    first, second = told["rounds"]
    # Random weights write nothing that runs, and the table shows it.
    assert (first["figures"]["asked"], first["figures"]["ran"], second["figures"]["fresh"]) == (4, 0.0, 0)
    assert (second["learned"], second["loss"]["last"] < second["loss"]["first"]) == (6, True)
    assert told["ended"] == "round 1 added no new problems to learn from"
    adapter = whole / "round-0001" / "training" / "adapter" / ADAPTER_WEIGHTS
    assert second["adapter_digest"] == digest_of([adapter])
    # The adapter answered, not the base model.
    written = [*Dataset(whole / "round-0001" / "written").conversations(rejected=True)]
    called = {call.adapter_digest for one in written for turn in one.turns for call in turn.calls}
    assert called == {second["adapter_digest"]}

    killed_when(command(cut), lambda: journal_frames(cut / "round-0000" / "written"))
    killed_when(command(cut), lambda: losses(cut / "round-0001" / "training"))
    killed_when(command(cut), lambda: journal_frames(cut / "round-0001" / "written"))
    again = json.loads(subprocess.run(command(cut), stdout=subprocess.PIPE, check=True).stdout)
    assert again == told
    assert "| 1 | " in (cut / "rounds.md").read_text("utf-8")
