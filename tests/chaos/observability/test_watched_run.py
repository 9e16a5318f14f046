"""Checks what operators see of a real run: every panel shows data, and `soliloquy top` agrees."""

import json
import subprocess
import urllib.request
from collections.abc import Iterator

import pytest

from deploy.dashboards.board import boards
from soliloquy.runs.assignment import SERVICES
from tests.e2e.runs import SOLILOQUY, said
from tests.integration.observability.watched import Watched, watched
from tests.models import needs_torch
from tests.observability import needs_prometheus
from tests.unit.deploy.queries import filled

pytestmark = [needs_prometheus, needs_torch, pytest.mark.timeout(900)]

DATA_SECONDS = 120.0
# Rows of Ray and of the gateway, which have tests of their own, and of what this machine has not.
ELSEWHERE = {"Ray Serve", "Gateway", "When will it be done?", "What do runs cost?"}
ELSEWHERE |= {"Batches", "vLLM", "GPUs", "GPU-hours", "Volumes"}


@pytest.fixture(scope="module")
def seen(kafka: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Watched]:
    with watched(tmp_path_factory.mktemp("watched"), kafka, conversations=400, steps=3) as run:
        yield run


def test_every_panel_shows_data_of_a_real_run(seen: Watched) -> None:
    asked = {
        f"{name}: {panel.title}: {legend}": filled(query, rate="30s", window="2m")
        for name, board in boards().items()
        for row, panels in board.row.items()
        for panel in panels
        # Each panel is evaluated where its metric exists.
        if row not in ELSEWHERE
        for legend, query in panel.ask.items()
    }
    seen.prometheus.wait_for(asked, DATA_SECONDS)


def test_promtool_has_nothing_to_say_against_what_a_service_exports(seen: Watched) -> None:
    for address in seen.addresses:
        with urllib.request.urlopen(f"http://{address}/metrics", timeout=10) as response:
            exported = response.read()
        told = subprocess.run(["promtool", "check", "metrics"], input=exported, capture_output=True, check=False)
        assert [line for line in told.stdout.decode().splitlines() if line.startswith("soliloquy_")] == []


def test_top_says_what_the_services_say(seen: Watched) -> None:
    told = said([SOLILOQUY, "top", *seen.addresses, "--once", "--json"])
    assert (told.returncode, told.stderr) == (0, "")
    now = json.loads(told.stdout)
    assert (now["processes"], now["silent"]) == (len(seen.addresses), {})
    assert {stage["service"] for stage in now["stages"]} == set(SERVICES)
    assert now["conversations"]["dead_letters"] == 2
    assert now["conversations"]["accepted"] > 0
    assert now["calls"]["cost"] > 0


def test_top_names_a_process_that_does_not_answer_and_shows_the_others(seen: Watched, kafka: str) -> None:
    port = seen.addresses[0].rpartition(":")[2]
    told = said([SOLILOQUY, "top", "--kafka", kafka, "--http-from", str(int(port) - 1), "--once"])
    assert told.returncode == 0, told.stderr
    assert f"curriculum-0 on 127.0.0.1:{int(port) - 1} does not answer" in told.stdout
    assert "accepted" in told.stdout
