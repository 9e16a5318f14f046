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
from tests.e2e.runs import SOLILOQUY, command, dataset, grown, run, said


def refused(arguments: list[str], environment: dict[str, str] | None = None) -> str:
    return one_line(said(arguments, environment=environment))


def one_line(result: subprocess.CompletedProcess[str]) -> str:
    assert result.returncode == 2, result.stdout + result.stderr
    assert result.stdout == ""
    [line] = result.stderr.strip().splitlines()
    return line


@pytest.mark.parametrize("option", ["conversations", "workers", "in_flight", "max_attempts"])
@pytest.mark.parametrize("value", [0, -3, "many"])
def test_a_number_out_of_range_is_named(tmp_path: Path, option: str, value: str | int) -> None:
    line = refused([*command(tmp_path / "out"), f"--{option.replace('_', '-')}", str(value)])
    assert f"--{option.replace('_', '-')}" in line
    assert not (tmp_path / "out").exists()


def test_a_wrong_latency_is_named(tmp_path: Path) -> None:
    assert "e.g. 200ms, 1.5s or 2m" in refused(command(tmp_path / "out", latency="soon"))


def test_unknown_problems_are_refused_with_the_banks_there_are(tmp_path: Path) -> None:
    assert "physics" in refused(command(tmp_path / "out", problems="chemistry"))
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize(
    ("content", "complaint"),
    [
        (b'{"question": "Why?", "solution": "So."}\n{"question": 7, "solution": "x"}\n', ":2: question: "),
        (b'{"question": "Why?"}\n', ":1: solution: "),
        (b"question,solution\n", ":1: "),
        (b"\xff\n", "UTF-8"),
        (b"", "no problem"),
    ],
    ids=["wrong type", "missing field", "not JSON", "not UTF-8", "empty"],
)
def test_a_malformed_problem_file_is_refused_by_line_and_field(tmp_path: Path, content: bytes, complaint: str) -> None:
    path = tmp_path / "problems.jsonl"
    path.write_bytes(content)
    assert complaint in refused(command(tmp_path / "out", problems=path))
    assert not (tmp_path / "out").exists()


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


def test_a_folder_where_a_file_is_in_the_way_is_refused(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("", "utf-8")
    assert "out" in refused(command(tmp_path / "file" / "out"))


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


@pytest.mark.parametrize("arguments", [["show"], ["dlq", "list"]])
def test_an_empty_folder_has_nothing_to_show(tmp_path: Path, arguments: list[str]) -> None:
    assert str(tmp_path) in refused([SOLILOQUY, *arguments, str(tmp_path)])


def test_an_unknown_conversation_is_named(reference: Path) -> None:
    assert "'zzz'" in refused([SOLILOQUY, "show", str(reference), "zzz"])
