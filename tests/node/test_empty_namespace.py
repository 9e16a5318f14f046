"""Installs the chart on a bare cluster: nobody prepared a namespace, a Kafka, a node or a Secret."""

import re
import shlex
import time
from pathlib import Path

import pytest

from tests.node.node import profile
from tests.node.release import RELEASE, SERVICES, Release, said, whole

pytestmark = pytest.mark.timeout(2400)
# A quarter of an hour, images pushed.
AT_MOST_SECONDS = 900.0


def test_an_empty_namespace_has_ten_conversations_within_a_quarter_of_an_hour(bare: Release, tmp_path: Path) -> None:
    started = time.monotonic()
    bare.try_out()
    installed = time.monotonic()
    assert profile(bare.node.state).exists()
    assert '"accepted": 10' in bare.helm("test", RELEASE, "--logs", "--timeout=10m")
    tested = time.monotonic()
    print(f"\nhelm install --wait: {installed - started:.0f} s; helm test: {tested - installed:.0f} s")
    assert tested - started < AT_MOST_SECONDS


def test_the_next_command_of_the_notes_generates_a_dataset(bare: Release) -> None:
    [line] = re.findall(r"^  kubectl (.*soliloquy runs start.*)$", bare.notes, re.MULTILINE)
    assert said(bare.cluster.command("kubectl", *shlex.split(line)))
    [folder] = [each for each in (bare.volume / "collector").iterdir() if (each / "manifest.json").exists()]
    assert len(whole(folder)) == 100


def test_a_broker_that_is_deleted_comes_back_with_its_events(bare: Release) -> None:
    bare.delete("kafka")
    bare.ready("kafka")
    for service in SERVICES:
        bare.ready(service)
    assert '"accepted": 10' in bare.helm("test", RELEASE, "--logs", "--timeout=10m")
