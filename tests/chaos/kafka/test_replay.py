"""Replays what a person repaired: the run becomes what it would have been."""

import os
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.chaos.kafka.conftest import Undisturbed
from tests.chaos.kafka.installation import Installation, until
from tests.chaos.kafka.run import Run
from tests.e2e.hosted import fake
from tests.e2e.runs import SOLILOQUY, dataset
from tests.e2e.runs import run as run_command

CONVERSATIONS = 60
IN_FLIGHT = 16
COLLECT_SECONDS = 60.0


@pytest.mark.timeout(900)
def test_conversations_that_a_model_refused_are_replayed(kafka: str, undisturbed: Undisturbed, tmp_path: Path) -> None:
    refusing = ("--model", "openai", "--model-name", "scripted", "--base-url")
    (key := tmp_path / "key").write_text("another", "utf-8")
    with (
        fake("--key-file", str(key)) as url,
        Installation(tmp_path, kafka, *refusing, url) as installation,
        Run(installation, tmp_path / "out", conversations=CONVERSATIONS, in_flight=IN_FLIGHT) as run,
    ):
        status, said = run.end()
        assert (status, "soliloquy dlq replay --kafka" in said) == (1, True), said
        found = letters(installation)
        assert len(found) == IN_FLIGHT
        assert all("student" in text or "conversation.started" in text for text in found), found
        assert installation.stop_up() == 0
        installation.start()
        installation.wait_until_ready()
        # Later ones are not refused.
        assert replay(installation) == IN_FLIGHT
        run.start()
        run.finish()
        assert dataset(run.out) == undisturbed(CONVERSATIONS)
        assert letters(installation) == []
    print(f"\n{IN_FLIGHT} conversations refused, replayed and finished")


@pytest.mark.skipif(os.geteuid() != 0, reason="mounting a small disk needs root")
@pytest.mark.timeout(900)
def test_a_full_disk_stops_the_collector_and_room_lets_it_go_on(
    kafka: str, undisturbed: Undisturbed, tmp_path: Path
) -> None:
    with (
        disk(tmp_path / "data") as data,
        Installation(tmp_path, kafka) as installation,
        Run(installation, tmp_path / "out", conversations=CONVERSATIONS, in_flight=IN_FLIGHT) as run,
    ):
        until(lambda: not installation.runs, "the services go on", COLLECT_SECONDS)
        assert "the conversation cannot be stored" in installation.said
        assert "No space left" in installation.said
        subprocess.run(["mount", "-o", "remount,size=64m", str(data)], check=True)
        installation.start()
        installation.wait_until_ready()
        run.finish()
        assert dataset(run.out) == undisturbed(CONVERSATIONS)
        # Conversations that could not be stored stayed in their topic.
        assert letters(installation) == []
        until(lambda: len(installation.collected()) == CONVERSATIONS, "not all are collected", COLLECT_SECONDS)
    print("\na full disk stopped the collector; with room, all were kept and none was a dead letter")


@contextmanager
def disk(folder: Path) -> Iterator[Path]:
    """Mounts a disk that is full after a few conversations."""
    folder.mkdir()
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=128k", "tmpfs", str(folder)], check=True)
    try:
        yield folder
    finally:
        subprocess.run(["umount", "--lazy", str(folder)], check=True)


def letters(installation: Installation) -> list[str]:
    """Returns the dead letters as `dlq list` prints them."""
    shown = _dlq(installation, "list")
    return [] if shown == "no dead letters\n" else shown.replace("\n    ", " ").splitlines()


def replay(installation: Installation) -> int:
    return int(_dlq(installation, "replay").split()[0])


def _dlq(installation: Installation, what: str) -> str:
    reach = ["--kafka", installation.settings.bootstrap, "--kafka-prefix", installation.settings.prefix]
    done = run_command([SOLILOQUY, "dlq", what, *reach])
    assert done.returncode == 0, done.stderr
    return done.stdout
