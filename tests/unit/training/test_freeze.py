"""The same source freezes to the same bytes, whatever is added to it later."""

import resource
from collections.abc import Sequence
from pathlib import Path

import pytest
from click.testing import CliRunner

from soliloquy.cli.main import commands
from soliloquy.dataset.manifest import shards_of, write_manifest
from soliloquy.dataset.prompts import write_prompts
from soliloquy.dataset.reading import Dataset
from soliloquy.dataset.rows import messages, rows
from soliloquy.dataset.storage import Storage
from soliloquy.dataset.timings import without_timings
from soliloquy.recipes.prompts import own_texts
from soliloquy.recipes.recipe import find
from soliloquy.runtime.events import first_event
from soliloquy.runtime.failure import Failure
from soliloquy.runtime.transports.embedded import EmbeddedTransport
from soliloquy.runtime.transports.port import Transport
from soliloquy.v1.conversation_pb2 import Conversation
from soliloquy.v1.events_pb2 import ConversationFinished
from soliloquy_training.continuous.sources import DatasetSource
from soliloquy_training.freeze import FINISHED, freeze_dataset, freeze_topic, recorded_offsets
from tests.unit.training.growing import conversations, dataset


def files(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


async def finish(transport: Transport, *finished: Conversation) -> None:
    events = [ConversationFinished(conversation=conversation) for conversation in finished]
    await transport.publish([first_event(event, source="test", time=0.0) for event in events])


def test_a_frozen_dataset_holds_the_same_conversations_in_the_same_order(tmp_path: Path) -> None:
    made = conversations(4)
    freeze_dataset(str(dataset(tmp_path / "grown", made)), tmp_path / "frozen")
    kept = without_timings(rows((one.SerializeToString() for one in made), made[0].run.recipe))
    [frozen] = Dataset(tmp_path / "frozen").batches()
    assert messages(frozen) == messages(kept)


def test_a_dataset_is_frozen_to_the_same_bytes_again(tmp_path: Path) -> None:
    grown = str(dataset(tmp_path / "grown", conversations(4)))
    freeze_dataset(grown, tmp_path / "once")
    freeze_dataset(grown, tmp_path / "twice")
    assert files(tmp_path / "once") == files(tmp_path / "twice")


@pytest.fixture
def made() -> Sequence[Conversation]:
    """Runs before the test's own event loop."""
    return conversations(4)


async def test_the_same_offsets_of_a_topic_give_the_same_bytes_though_it_grew(
    tmp_path: Path, made: Sequence[Conversation]
) -> None:
    first, second, third, later = made
    async with EmbeddedTransport(tmp_path / "log.sqlite") as transport:
        await finish(transport, first, second, third)
        manifest = await freeze_topic(transport, await transport.ends(FINISHED), tmp_path / "once")
        await finish(transport, later)
        begins, again = recorded_offsets(tmp_path / "once" / "manifest.json")
        await freeze_topic(transport, again, tmp_path / "twice", begins=begins)
        earlier = {number: -1 for number, end in again.items() if end}
        with pytest.raises(Failure, match="earlier messages are gone"):
            await freeze_topic(transport, again, tmp_path / "gone", begins=earlier)
        await freeze_topic(transport, await transport.ends(FINISHED), tmp_path / "later")
    assert (manifest["counts"]["accepted"], manifest["run"]["frozen"]["rejected"]) == (3, 0)
    assert files(tmp_path / "once") == files(tmp_path / "twice")
    assert {one.id for one in Dataset(tmp_path / "later")} == {one.id for one in (first, second, third, later)}


async def test_what_is_delivered_twice_is_frozen_once_and_what_the_rules_reject_is_not(
    tmp_path: Path, made: Sequence[Conversation]
) -> None:
    good, other, *_ = made
    bad = Conversation()
    bad.CopyFrom(other)
    bad.turns[-1].tutor.text = "Student: I give up."
    assert find("soliloquy").faults(bad)
    async with EmbeddedTransport(tmp_path / "log.sqlite") as transport:
        await finish(transport, good, bad)
        await finish(transport, good)
        manifest = await freeze_topic(transport, await transport.ends(FINISHED), tmp_path / "frozen")
    assert (manifest["counts"]["accepted"], manifest["run"]["frozen"]["rejected"]) == (1, 1)
    assert [one.id for one in Dataset(tmp_path / "frozen")] == [good.id]


def with_prompts(conversation: Conversation, **texts: str) -> Conversation:
    changed = Conversation()
    changed.CopyFrom(conversation)
    changed.run.prompts.update({f"{name}.txt": text for name, text in texts.items()})
    return changed


async def test_a_frozen_topic_keeps_the_prompts_that_its_run_changed(
    tmp_path: Path, made: Sequence[Conversation]
) -> None:
    async with EmbeddedTransport(tmp_path / "log.sqlite") as transport:
        await finish(transport, *(with_prompts(one, deciding="Decide.") for one in made))
        await freeze_topic(transport, await transport.ends(FINISHED), tmp_path / "frozen")
    assert Dataset(tmp_path / "frozen").prompts == own_texts("soliloquy") | {"deciding.txt": "Decide."}


def test_rows_of_a_growing_dataset_are_frozen_with_its_prompts(tmp_path: Path) -> None:
    grown = dataset(tmp_path / "grown", made := conversations(3))
    texts = own_texts("soliloquy") | {"deciding.txt": "Decide."}
    manifest, place = Dataset(grown).manifest, Storage(grown)
    write_manifest(place, manifest, [*shards_of(manifest, "accepted"), *write_prompts(place, texts)])
    source = DatasetSource(data=str(grown))
    span = source.next(None, 2, lambda _: False, lambda _: None)
    source.freeze(span, tmp_path / "frozen", lambda _: False)
    frozen = Dataset(tmp_path / "frozen")
    assert [one.id for one in frozen] == [one.id for one in made[:2]]
    assert frozen.prompts == texts


async def test_runs_with_different_prompts_are_not_frozen_together(
    tmp_path: Path, made: Sequence[Conversation]
) -> None:
    changed, plain, *_ = made
    async with EmbeddedTransport(tmp_path / "log.sqlite") as transport:
        await finish(transport, with_prompts(changed, deciding="Decide."), plain)
        with pytest.raises(Failure, match=r"have different prompts.* choose the dataset of a run with --data"):
            await freeze_topic(transport, await transport.ends(FINISHED), tmp_path / "frozen")
    assert not (tmp_path / "frozen").exists()


def test_a_folder_that_is_there_is_not_written_over(tmp_path: Path) -> None:
    grown = dataset(tmp_path / "grown", conversations(1))
    with pytest.raises(Failure, match="already exists: choose another --out"):
        freeze_dataset(str(grown), grown)


def test_a_job_that_starts_again_goes_on_with_what_it_has_frozen(tmp_path: Path) -> None:
    def freeze(data: Path, out: Path, *options: str) -> int:
        command = ["freeze", "--data", str(data), "--out", str(out), *options]
        return CliRunner().invoke(commands, command).exit_code

    frozen, (first, second) = tmp_path / "frozen", conversations(2)
    earlier, later = dataset(tmp_path / "earlier", [first]), dataset(tmp_path / "later", [first, second])
    assert freeze(earlier, frozen, "--once") == 0
    found = files(frozen)
    assert freeze(later, frozen, "--once") == 0
    assert files(frozen) == found
    # Nothing was frozen there.
    assert freeze(earlier, later, "--once") != 0
    assert freeze(earlier, frozen) != 0


def test_a_full_disk_is_one_line_and_leaves_no_folder(tmp_path: Path) -> None:
    grown = str(dataset(tmp_path / "grown", conversations(4)))
    unlimited, most = resource.getrlimit(resource.RLIMIT_FSIZE)
    # A limit on the size of files.
    resource.setrlimit(resource.RLIMIT_FSIZE, (1000, most))
    try:
        with pytest.raises(Failure, match=r"cannot write .*frozen \(.*\): free some space") as refused:
            freeze_dataset(grown, tmp_path / "frozen")
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (unlimited, most))
    assert "\n" not in str(refused.value)
    assert not (tmp_path / "frozen").exists()
    freeze_dataset(grown, tmp_path / "frozen")


def test_offsets_come_from_a_frozen_topic(tmp_path: Path) -> None:
    freeze_dataset(str(dataset(tmp_path / "grown", conversations(1))), tmp_path / "frozen")
    with pytest.raises(Failure, match="holds no offsets"):
        recorded_offsets(tmp_path / "frozen" / "manifest.json")
