"""The journal is the truth of a run's progress, whatever happens to the process that writes it."""

import resource
import struct
import zlib
from pathlib import Path

import pytest

from soliloquy.dataset.frames import DamagedFrames, read_messages
from soliloquy.dataset.layout import ACCEPTED, REJECTED
from soliloquy.dataset.manifest import read_manifest, shards_of
from soliloquy.dataset.storage import Storage
from soliloquy.dataset.verify import findings
from soliloquy.recipes.mathdial.confusion import labelled
from soliloquy.recipes.mathdial.labels_pb2 import Confusion
from soliloquy.v1.conversation_pb2 import Conversation, Discarded, Ending
from soliloquy_services.collector.dataset import counts_so_far, write_dataset
from soliloquy_services.collector.journal import Journal, collected_now
from tests.unit.collector.collecting import numbered, ordinals_in


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "journal"


def written(folder: Path, journal: Journal, *, conversations: int = 10) -> Storage:
    place = Storage(folder)
    write_dataset(
        place, folder / ".run", journal, run={"seed": 7, "conversations": conversations}, cost=lambda _: {}, topics={}
    )
    return place


async def test_what_was_added_is_there_after_a_restart(path: Path) -> None:
    with Journal(path) as journal:
        await journal.add(numbered(1), [])
        await journal.add(numbered(0), ["verdict: turn 2"])
        counts = counts_so_far(journal, 10)
    with Journal(path) as journal:
        assert counts_so_far(journal, 10) == counts
        assert [collected.ordinal for collected in journal.wanted(10)] == [0, 1]


async def test_the_first_of_an_id_wins_and_the_others_are_counted(path: Path) -> None:
    with Journal(path) as journal:
        await journal.add(numbered(0), [])
        await journal.add(numbered(0), ["a fault that comes too late"])
        assert (journal.accepted, journal.rejected, journal.duplicates) == (1, 0, 1)


async def test_a_frame_cut_off_by_a_crash_is_written_anew(path: Path) -> None:
    with Journal(path) as journal:
        await journal.add(numbered(0), [])
        size = path.stat().st_size
        await journal.add(numbered(1), [])
    whole = path.read_bytes()
    for left in (size + 1, size + 10, len(whole) - 1):
        path.write_bytes(whole[:left])
        with Journal(path) as journal:
            assert journal.settled_ordinals(max_attempts=3) == {0}
            assert path.stat().st_size == size
            await journal.add(numbered(1), [])
        assert len(list(read_messages(path))) == 2


async def test_frames_of_an_earlier_version_are_read_and_followed_by_smaller_ones(path: Path) -> None:
    plain = collected_now(numbered(0), [], None).SerializeToString()
    path.write_bytes(struct.pack("<II", len(plain), zlib.crc32(plain, len(plain) ^ 0xFFFFFFFF)) + plain)
    with Journal(path) as journal:
        size = path.stat().st_size
        await journal.add(numbered(1), [])
        assert [collected.ordinal for collected in journal.wanted(10)] == [0, 1]
    assert path.stat().st_size < 2 * size


@pytest.mark.parametrize("payload", [b"", b"\xff\xff\xff\x7fabc", b"\x10\x00\x00\x00abc"])
def test_a_frame_that_nobody_wrote_is_refused_without_room_for_what_it_claims(path: Path, payload: bytes) -> None:
    length = len(payload) | 1 << 31
    path.write_bytes(struct.pack("<II", length, zlib.crc32(payload, length ^ 0xFFFFFFFF)) + payload)
    with pytest.raises(DamagedFrames, match="never written"):
        list(read_messages(path))


async def test_a_frame_that_is_not_what_was_written_is_named(path: Path) -> None:
    with Journal(path) as journal:
        await journal.add(numbered(0), [])
        await journal.add(numbered(1), [])
    whole = path.read_bytes()
    for at in (3, 200):
        path.write_bytes(whole[:at] + bytes([whole[at] ^ 0xFF]) + whole[at + 1 :])
        with pytest.raises(DamagedFrames, match="damaged at byte 0"):
            Journal(path)


async def test_a_problem_is_settled_by_an_accepted_conversation_or_its_last_attempt(path: Path) -> None:
    with Journal(path) as journal:
        await journal.add(numbered(0, attempt=0), ["fault"])
        assert journal.settled_ordinals(max_attempts=2) == set()
        await journal.add(numbered(0, attempt=1), ["fault"])
        await journal.add(numbered(1, attempt=0), [])
        assert journal.settled_ordinals(max_attempts=2) == {0, 1}
        assert journal.given_up(max_attempts=2) == 1


async def test_a_problem_that_is_no_use_to_the_recipe_is_settled_and_counted_with_its_reason(path: Path) -> None:
    unfit = numbered(3)
    unfit.ending, unfit.ending_reason = Ending.ENDING_UNFIT, "no sample is wrong: 50 right"
    unfit.run.recipe = "mathdial"
    unfit.problem.enrichment.labels = labelled(Confusion(discarded=[Discarded(because="right", samples=50)]))
    with Journal(path) as journal:
        await journal.add(unfit, ["no sample is wrong: 50 right"])
    with Journal(path) as journal:
        assert journal.settled_ordinals(max_attempts=5) == {3}
        assert (journal.given_up(max_attempts=5), journal.unfit) == (1, 1)
        counts = counts_so_far(journal, 10)
    assert counts["unfit"] == {"no sample is wrong": 1}
    assert counts["discarded"] == {"right": 50}


async def test_the_dataset_is_the_same_whatever_the_order_of_arrival_and_who_grew_it(tmp_path: Path) -> None:
    arrivals = {"forward": [0, 1, 2, 3], "mixed": [2, 0, 3, 1]}
    made = {}
    for name, order in arrivals.items():
        folder = tmp_path / name
        folder.mkdir()
        with Journal(folder / "journal") as journal:
            for ordinal in order:
                await journal.add(timed(numbered(ordinal), ordinal + len(name)), ["fault"] if ordinal == 1 else [])
            place = written(folder, journal)
        manifest = read_manifest(place)
        assert manifest is not None
        shards = shards_of(manifest, ACCEPTED, REJECTED)
        made[name] = (manifest["counts"], shards, [(folder / shard.name).read_bytes() for shard in shards])
        assert ordinals_in(place) == [0, 2, 3]
        assert ordinals_in(place, REJECTED) == [1]
        assert list(findings(place)) == []
    assert made["forward"] == made["mixed"]


def timed(conversation: Conversation, seconds: float) -> Conversation:
    """As another machine, or another hour, would have grown it."""
    conversation.run.growing, conversation.run.in_flight = f"growing-{seconds}", int(seconds)
    for turn in conversation.turns:
        turn.calls.add(role="student", seconds=seconds)
        for attempt in turn.calculation.attempts:
            attempt.execution.seconds = attempt.execution.waited_seconds = seconds
            attempt.execution.runsc_version = str(seconds)
    return conversation


async def test_what_a_run_has_too_much_of_is_left_out_and_counted(tmp_path: Path) -> None:
    with Journal(tmp_path / "journal") as journal:
        for ordinal in (5, 4, 3, 2, 1, 0):
            await journal.add(numbered(ordinal), ["fault"] if ordinal in (1, 4) else [])
        await journal.add(numbered(1, attempt=1), [])
        await journal.add(numbered(0, attempt=1), [])
        place = written(tmp_path, journal, conversations=3)
    assert ordinals_in(place) == [0, 1, 2]
    assert ordinals_in(place, REJECTED) == [1]
    manifest = read_manifest(place)
    assert manifest is not None
    assert (manifest["counts"]["accepted"], manifest["counts"]["rejected"]) == (3, 1)
    assert manifest["arrival"]["discarded"] == 4


async def test_what_a_killed_writer_left_behind_does_not_count(tmp_path: Path) -> None:
    left = tmp_path / ACCEPTED / "00007.parquet"
    left.parent.mkdir()
    left.write_bytes(b"half a shard")
    with Journal(tmp_path / "journal") as journal:
        await journal.add(numbered(0), [])
        place = written(tmp_path, journal)
    assert not left.exists()
    assert list(findings(place)) == []


async def test_a_full_disk_leaves_no_half_frame(path: Path) -> None:
    """/dev/full would refuse the first byte; a file that may not grow refuses in the middle of a frame."""
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
        assert journal.accepted == 1
    with Journal(path) as journal:
        assert journal.accepted == 1


async def test_the_enrichment_that_conversations_share_is_counted_once_over_restarts(path: Path) -> None:
    for ordinal in range(3):
        with Journal(path) as journal:
            enriched = numbered(ordinal)
            enriched.problem.id = "shared"
            enriched.problem.enrichment.calls.add(role="planner", prompt_tokens=5)
            await journal.add(enriched, [])
            assert journal.tokens["planner"]["prompt"] == 5
