"""The journal is the truth of a run's progress, whatever happens to the process that writes it."""

import json
import resource
from pathlib import Path

import pytest
from soliloquy.v1.conversation_pb2 import Conversation

from services.collector.dataset import read_manifest, write_dataset
from services.collector.journal import Journal
from tests.unit.recipes.conversations import sound_conversation


def numbered(ordinal: int, attempt: int = 0) -> Conversation:
    made = sound_conversation()
    made.id, made.ordinal, made.attempt = f"id-{ordinal}-{attempt}", ordinal, attempt
    return made


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "journal.jsonl"


async def test_what_was_added_is_there_after_a_restart(path: Path) -> None:
    with Journal(path) as journal:
        await journal.add(numbered(1), [])
        await journal.add(numbered(0), ["verdict: turn 2"])
        counts = journal.tally.as_json()
    with Journal(path) as journal:
        assert journal.tally.as_json() == counts
        assert [entry.ordinal for entry in journal.entries()] == [0, 1]


async def test_the_first_of_an_id_wins(path: Path) -> None:
    with Journal(path) as journal:
        await journal.add(numbered(0), [])
        await journal.add(numbered(0), ["a fault that comes too late"])
        assert (journal.tally.accepted, journal.tally.rejected) == (1, 0)


async def test_a_line_cut_off_by_a_crash_is_written_anew(path: Path) -> None:
    with Journal(path) as journal:
        await journal.add(numbered(0), [])
        await journal.add(numbered(1), [])
    whole = path.read_bytes()
    for cut in (1, 10, 500):
        path.write_bytes(whole[:-cut])
        with Journal(path) as journal:
            assert journal.settled_ordinals(max_attempts=3) == {0}
            await journal.add(numbered(1), [])
        assert path.read_bytes() == whole


async def test_a_problem_is_settled_by_an_accepted_conversation_or_its_last_attempt(path: Path) -> None:
    with Journal(path) as journal:
        await journal.add(numbered(0, attempt=0), ["fault"])
        assert journal.settled_ordinals(max_attempts=2) == set()
        await journal.add(numbered(0, attempt=1), ["fault"])
        await journal.add(numbered(1, attempt=0), [])
        assert journal.settled_ordinals(max_attempts=2) == {0, 1}
        assert journal.rejected_at(1) == 1


async def test_the_dataset_is_the_same_whatever_the_order_of_arrival(tmp_path: Path) -> None:
    arrivals = {"forward": [0, 1, 2, 3], "mixed": [2, 0, 3, 1]}
    for name, order in arrivals.items():
        folder = tmp_path / name
        folder.mkdir()
        with Journal(folder / "journal.jsonl") as journal:
            for ordinal in order:
                await journal.add(numbered(ordinal), ["fault"] if ordinal == 1 else [])
            write_dataset(folder, journal, run={"seed": 7}, cost={})
    for file in ("conversations.jsonl", "rejected.jsonl", "manifest.json"):
        assert (tmp_path / "forward" / file).read_bytes() == (tmp_path / "mixed" / file).read_bytes()
    lines = (tmp_path / "mixed" / "conversations.jsonl").read_text("utf-8").splitlines()
    assert [json.loads(line)["ordinal"] for line in lines] == [0, 2, 3]
    manifest = read_manifest(tmp_path / "mixed")
    assert manifest is not None
    assert (manifest["counts"]["accepted"], manifest["counts"]["rejected"]) == (3, 1)


async def test_a_full_disk_leaves_no_half_line(path: Path) -> None:
    """/dev/full would refuse the first byte; a file that may not grow refuses in the middle of a line."""
    with Journal(path) as journal:
        await journal.add(numbered(0), [])
        size = path.stat().st_size
        soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
        resource.setrlimit(resource.RLIMIT_FSIZE, (size + 100, hard))
        try:
            with pytest.raises(OSError, match="File too large"):
                await journal.add(numbered(1), [])
        finally:
            resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    with Journal(path) as journal:
        assert journal.settled_ordinals(max_attempts=3) == {0}
    assert path.stat().st_size == size


async def test_a_conversation_that_did_not_reach_the_disk_does_not_count(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def failing_disk(_descriptor: int) -> None:
        raise OSError("the disk does not answer")

    with Journal(path) as journal:
        with monkeypatch.context() as broken:
            broken.setattr("os.fsync", failing_disk)
            with pytest.raises(OSError, match="does not answer"):
                await journal.add(numbered(0), [])
        assert journal.settled_ordinals(max_attempts=3) == set()
        await journal.add(numbered(0), [])
        assert journal.tally.accepted == 1
    with Journal(path) as journal:
        assert journal.tally.accepted == 1
