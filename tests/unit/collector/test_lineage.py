"""A manifest lists the services that touched the conversations in its shards, whatever happens to them."""

import asyncio
from pathlib import Path

from soliloquy.dataset.forgetting import forget
from soliloquy.dataset.layout import ShardLimits
from soliloquy.dataset.manifest import read_manifest, services_in
from soliloquy.dataset.storage import Storage
from soliloquy.runtime.lineage import short_digest
from soliloquy.v1.events_pb2 import ServiceDescribed
from soliloquy_services.collector.live import LiveDataset
from tests.unit.collector.collecting import numbered

RUN = numbered(0).run
FIRST, SECOND = (
    ServiceDescribed(service="tutor", version="1.0", settings=f'{{"model": "{name}"}}') for name in ("small", "large")
)
STUDENT, SMALL, LARGE = (
    short_digest(one.SerializeToString(deterministic=True)) for one in (ServiceDescribed(), FIRST, SECOND)
)


def opened(folder: Path, **known: ServiceDescribed) -> LiveDataset:
    return LiveDataset(Storage(folder), folder / ".run", RUN, ShardLimits(rows=3), known)


async def add(dataset: LiveDataset, lineage: str, *ordinals: int) -> None:
    for ordinal in ordinals:
        await dataset.add(numbered(ordinal), [], None, lineage)


async def finish(dataset: LiveDataset) -> None:
    dataset.cut_after(0.0)
    await dataset.roll()
    dataset.close()


def listed(folder: Path) -> dict[str, tuple[str, str, int]]:
    manifest = read_manifest(Storage(folder))
    assert manifest
    return {
        row["digest"]: (row["service"], row.get("settings", {}).get("model", ""), row["conversations"])
        for row in services_in(manifest)
    }


async def test_a_tutor_restarted_with_another_model_is_listed_twice_with_the_conversations_of_each(
    tmp_path: Path,
) -> None:
    dataset = opened(tmp_path, **{SMALL: FIRST, LARGE: SECOND})
    await add(dataset, f"{STUDENT} {SMALL}", 0, 1, 2)
    await add(dataset, f"{STUDENT} {SMALL} {LARGE}", 3)
    await add(dataset, f"{STUDENT} {LARGE}", 4, 5)
    await add(dataset, "", 6)
    await finish(dataset)
    # Nobody described the student, and nobody touched the last one as far as its event tells.
    expected = {SMALL: ("tutor", "small", 4), LARGE: ("tutor", "large", 3), STUDENT: ("unknown", "", 6)}
    assert listed(tmp_path) == expected


async def test_a_start_without_descriptions_keeps_those_of_before_and_counts_on(tmp_path: Path) -> None:
    dataset = opened(tmp_path, **{SMALL: FIRST})
    await add(dataset, SMALL, 0, 1, 2, 3)
    await dataset.roll()
    # As after kill -9: the last conversation is in a segment alone.
    dataset.close()
    dataset = opened(tmp_path)
    await add(dataset, SMALL, 3, 4)
    await finish(dataset)
    assert listed(tmp_path) == {SMALL: ("tutor", "small", 5)}


async def test_what_is_lost_or_forgotten_does_not_count(tmp_path: Path) -> None:
    folder = tmp_path / "store" / "run"
    dataset = opened(folder, **{SMALL: FIRST, LARGE: SECOND})
    await add(dataset, SMALL, 0, 1, 2)
    await add(dataset, LARGE, 3, 4)
    await finish(dataset)
    forget(str(folder), [numbered(1).id])
    assert listed(folder) == {SMALL: ("tutor", "small", 2), LARGE: ("tutor", "large", 2)}
    (folder / "accepted" / "00001.parquet").unlink()
    await finish(await asyncio.to_thread(opened, folder))
    assert listed(folder) == {SMALL: ("tutor", "small", 2), LARGE: ("tutor", "large", 0)}
