"""A disk that fills or is read-only stops a collector with one line; what is there stays, and room lets it go on."""

import gc
import os
import random
import string
import subprocess
from collections.abc import Iterator
from contextlib import suppress
from functools import partial
from pathlib import Path

import pytest
from click.testing import CliRunner

from soliloquy.cli.main import commands
from soliloquy.dataset.layout import REJECTED, WORKING, ShardLimits
from soliloquy.dataset.shards import DatasetWriter
from soliloquy.dataset.storage import Storage
from soliloquy.dataset.tally import Tally
from soliloquy.dataset.verify import findings
from soliloquy.runtime.retry import CannotServe
from soliloquy.v1.events_pb2 import ConversationFinished
from soliloquy_services.collector.handler import collect
from soliloquy_services.collector.journal import collected_now
from soliloquy_services.collector.live_datasets import LiveDatasets
from soliloquy_services.collector.settings import LiveSettings
from tests.integration.executor.support import needs_runsc
from tests.unit.collector.collecting import numbered, ordinals_in
from tests.unit.dataset.small import dataset, small
from tests.unit.runtime.deliveries import delivered
from tests.waiting import until

RUN = numbered(0).run
# More than the small disk holds.
CONVERSATIONS = 200
FILES = {"openai": ".jsonl", "hf": ""}


@pytest.fixture
def disk(tmp_path: Path) -> Iterator[Path]:
    """A small file system of its own."""
    disk = tmp_path / "disk"
    disk.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=400k", "tmpfs", str(disk)]
    mounted = subprocess.run(mount, capture_output=True, check=False)
    if mounted.returncode != 0 and "CI" not in os.environ:
        pytest.skip("mounting a small file system needs root")
    assert mounted.returncode == 0, mounted.stderr
    yield disk
    subprocess.run(["umount", disk], check=True)


def remount(disk: Path, options: str) -> None:
    subprocess.run(["mount", "-o", f"remount,{options}", disk], check=True)


def fill(disk: Path) -> None:
    with suppress(OSError), (disk / "filler").open("wb", buffering=0) as filler:
        while filler.write(b"x" * 1000):
            pass


async def all_collected(finished: list[ConversationFinished], datasets: LiveDatasets) -> None:
    for event in finished:
        await collect(event, delivered(event), datasets)


async def test_a_full_disk_stops_the_collector_and_room_lets_it_go_on(disk: Path) -> None:
    settings = LiveSettings(data=disk / "data")
    finished = [ConversationFinished(conversation=numbered(ordinal)) for ordinal in range(CONVERSATIONS)]
    letters = random.Random(3)
    for event in finished:
        # Nothing that compresses well.
        event.conversation.turns[0].calls.add(raw=["".join(letters.choices(string.ascii_letters, k=3000))])
    async with LiveDatasets(settings) as datasets:
        with pytest.raises(CannotServe, match=r"cannot be stored: .*No space left on device"):
            await all_collected(finished, datasets)
    remount(disk, "size=100m")
    async with LiveDatasets(settings) as datasets:
        await all_collected(finished, datasets)
    place = Storage(settings.data / RUN.id)
    assert sorted(ordinals_in(place) + ordinals_in(place, REJECTED)) == list(range(CONVERSATIONS))
    assert list(findings(place)) == []


def test_a_shard_that_is_thrown_away_on_a_full_disk_prints_nothing(
    disk: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    told: list[object] = []
    monkeypatch.setattr("sys.unraisablehook", told.append)
    # A conversation is written when the next one comes.
    monkeypatch.setattr("soliloquy.dataset.shards.GROUP_BYTES", 1)
    writer = DatasetWriter(Storage(tmp_path / "out"), disk, (), ShardLimits(), Tally())
    for ordinal in range(2):
        writer.add(collected_now(numbered(ordinal), [], None))
    fill(disk)
    del writer
    gc.collect()
    assert told == []


@needs_runsc
def test_the_second_try_of_a_run_without_room_asks_for_room(disk: Path) -> None:
    out = disk / "out"
    (out / WORKING).mkdir(parents=True)
    fill(disk)
    options = ["--problems", "physics", "--conversations", "4", "--out", str(out)]
    result = CliRunner().invoke(commands, ["generate", *options])
    line = "cannot be written (No space left on device): free some space and run the same command again, which resumes"
    assert (result.exit_code, result.stderr) == (2, f"soliloquy: {out} {line}\n")


async def test_a_read_only_store_is_named_and_what_comes_is_kept(
    disk: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("soliloquy_services.collector.live_datasets.PAUSE_SECONDS", 0.0)
    settings = LiveSettings(data=tmp_path / "data", store=str(disk), shard_seconds=0.0)
    place = Storage(disk / RUN.id)
    async with LiveDatasets(settings) as datasets:
        await datasets.add(numbered(0), [])
        await until(partial(ordinals_in, place))
        remount(disk, "ro")
        await datasets.add(numbered(1), [])
        await until(lambda: datasets.fault)
        assert "Read-only file system" in datasets.fault
        assert ordinals_in(place) == [0]
        remount(disk, "rw")
        await until(lambda: not datasets.fault)
    assert ordinals_in(place) == [0, 1]
    assert list(findings(place)) == []


@pytest.mark.parametrize(
    "command",
    [
        *(["export", "--format", name, "--out", f"{{disk}}/out{suffix}"] for name, suffix in FILES.items()),
        ["report", "--out", "{disk}/report.html"],
    ],
    ids=[*FILES, "report"],
)
def test_nothing_is_left_of_what_a_disk_has_no_room_for(disk: Path, tmp_path: Path, command: list[str]) -> None:
    many = [small(number) for number in range(40)]
    for conversation in many:
        conversation.turns[0].tutor.thoughts = "".join(
            random.Random(conversation.id).choices(string.printable, k=20_000)
        )
    folder = dataset(tmp_path / "dataset", many)
    name, *options = (part.format(disk=disk) for part in command)
    result = CliRunner().invoke(commands, [name, str(folder), *options])
    assert isinstance(result.exception, SystemExit)
    assert (result.exit_code, result.stdout) == (2, "")
    assert "No space left on device): free some space and run the same command again" in result.stderr
    assert list(disk.iterdir()) == []
