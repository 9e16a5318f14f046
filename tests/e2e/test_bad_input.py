"""Checks that impossible requests end in one line with status 2, and lose or overwrite nothing."""

import os
import sqlite3
import subprocess
from pathlib import Path
from typing import Any

import pytest

from soliloquy.dataset.layout import WORKING
from soliloquy.dataset.lock import write_lock
from soliloquy.dataset.storage import Storage
from tests.cases import each_case
from tests.e2e.runs import command, dataset, grown, one_line, run, said


def refused(arguments: list[str], environment: dict[str, str] | None = None) -> str:
    return one_line(said(arguments, environment=environment))


def test_without_gvisor_nothing_begins(tmp_path: Path) -> None:
    line = refused(command(tmp_path / "out"), environment={"PATH": str(tmp_path)})
    assert "apt-get install runsc" in line
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize("other", [{"seed": 8}, {"noise": "real"}], ids=str)
def test_the_folder_of_another_run_is_left_alone(reference: Path, other: dict[str, Any]) -> None:
    before = dataset(reference)
    line = refused(command(reference, conversations=8, **other))
    assert "holds another run" in line
    assert next(iter(other)) in line
    assert dataset(reference) == before


def test_a_run_is_never_shortened(reference: Path) -> None:
    before = dataset(reference)
    assert "holds a run of 8 conversations, which 1 cannot shorten" in refused(command(reference, conversations=1))
    assert dataset(reference) == before


def test_a_dataset_without_a_manifest_is_left_alone(tmp_path: Path) -> None:
    theirs = tmp_path / "accepted" / "00000.parquet"
    theirs.parent.mkdir()
    theirs.write_text("mine\n", "utf-8")
    assert "choose another --out" in refused(command(tmp_path))
    assert theirs.read_text("utf-8") == "mine\n"


@each_case
def test_the_files_of_another_version_are_left_alone(tmp_path: Path, name: str, content: str, complaint: str) -> None:
    theirs = tmp_path / name
    theirs.parent.mkdir(exist_ok=True)
    theirs.write_text(content, "utf-8")
    line = refused(command(tmp_path))
    assert complaint in line
    assert "choose another --out" in line
    assert theirs.read_text("utf-8") == content


@pytest.mark.thorough
def test_a_corrupt_log_is_named_and_the_collected_conversations_stay(unfinished: Path) -> None:
    journal = (unfinished / ".run" / "journal").read_bytes()
    for leftover in unfinished.glob(".run/log.sqlite*"):
        leftover.write_bytes(b"this is no database" * 500)
    assert "log.sqlite" in one_line(run(command(unfinished, conversations=8)))
    assert (unfinished / ".run" / "journal").read_bytes().startswith(journal)


def test_a_damaged_journal_is_named_and_left_alone(unfinished: Path) -> None:
    journal = unfinished / ".run" / "journal"
    damaged = bytearray(journal.read_bytes())
    damaged[100] ^= 1
    journal.write_bytes(damaged + damaged)
    assert "journal is damaged at byte 0" in refused(command(unfinished, conversations=8))
    assert journal.read_bytes() == damaged + damaged


@pytest.mark.thorough
def test_a_log_locked_by_another_program_is_named(unfinished: Path) -> None:
    with sqlite3.connect(unfinished / ".run" / "log.sqlite", isolation_level=None) as other:
        other.execute("BEGIN EXCLUSIVE")
        assert "locked" in one_line(run(command(unfinished, conversations=8)))
        other.execute("ROLLBACK")
    other.close()


def test_two_runs_cannot_grow_one_folder(tmp_path: Path) -> None:
    (tmp_path / WORKING).mkdir()
    with write_lock(Storage(tmp_path), tmp_path / WORKING):
        assert "another process is writing" in refused(command(tmp_path))


@pytest.mark.thorough
def test_a_full_disk_stops_the_run_and_room_lets_it_go_on(reference: Path, tmp_path: Path) -> None:
    """A small file system of its own is the disk that fills."""
    disk = tmp_path / "disk"
    disk.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=700k", "tmpfs", str(disk)]
    mounted = subprocess.run(mount, capture_output=True, check=False)
    if mounted.returncode != 0 and "CI" not in os.environ:
        pytest.skip("mounting a small file system needs root")
    assert mounted.returncode == 0, mounted.stderr
    try:
        line = one_line(run(command(disk / "out", conversations=8)))
        assert "full" in line or "No space" in line
        subprocess.run(["mount", "-o", "remount,size=100m", disk], check=True)
        assert grown(disk / "out", conversations=8)["accepted"] == 8
        assert dataset(disk / "out") == dataset(reference)
    finally:
        subprocess.run(["umount", disk], check=True)
