"""A manifest says which services made a dataset, as they were, also when they were replaced in the middle of it."""

import json
import os
import signal
from collections import Counter
from pathlib import Path
from typing import Any

from soliloquy.dataset.manifest import read_manifest, services_in
from soliloquy.dataset.storage import Storage
from tests.e2e.consoles import Site, site
from tests.e2e.runs import command, run
from tests.waiting import wait_until

CONVERSATIONS = 12


def services(folder: Path) -> list[dict[str, Any]]:
    manifest = read_manifest(Storage(folder))
    assert manifest
    return services_in(manifest)


def noises(folder: Path, service: str) -> Counter[str]:
    rows = (row for row in services(folder) if row["service"] == service)
    return Counter({row["settings"]["noise"]: row["conversations"] for row in rows})


def test_tutors_replaced_after_a_kill_are_both_listed_with_their_conversations(tmp_path: Path) -> None:
    def collected(at: Site, wanted: int) -> bool:
        progress = at.call("GET", f"/v1/runs/{started}")["progress"]
        return int(progress.get("accepted", 0)) >= wanted

    with site(tmp_path, "--noise", "none", "--latency", "100ms") as at:
        started = at.started(CONVERSATIONS, request_id="one", in_flight=2)
        wait_until(lambda: collected(at, 3))
        os.killpg(at.process.pid, signal.SIGKILL)
    with site(tmp_path, "--noise", "real") as at:
        wait_until(lambda: at.call("GET", f"/v1/runs/{started}")["state"] == "RUN_STATE_FINISHED")
        folder = tmp_path / "data" / started
        found = noises(folder, "tutor")
    assert set(found) == {"none", "real"}
    # Conversations that were under way at the kill are of both.
    assert min(found.values()) >= 3
    assert {row["service"] for row in services(folder)} >= {"student", "tutor", "collector", "curriculum"}


def test_an_extended_run_knows_the_services_of_its_first_conversations(tmp_path: Path) -> None:
    image = {"SOLILOQUY_IMAGE": "registry.example.com/workers@sha256:00"}
    for conversations, environment in ((3, image), (5, {})):
        ended = run(command(tmp_path / "out", conversations=conversations), environment=environment)
        assert ended.returncode == 0, ended.stderr
    rows = [row for row in services(tmp_path / "out") if row["service"] == "student"]
    assert {row.get("image", ""): row["conversations"] for row in rows} == {image["SOLILOQUY_IMAGE"]: 3, "": 2}
    assert all(json.dumps(row["settings"]["model"]) == '"scripted"' for row in rows)
