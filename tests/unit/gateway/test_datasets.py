from pathlib import Path

from soliloquy.dataset.manifest import Shard, write_manifest
from soliloquy.dataset.storage import Storage
from soliloquy.v1.events_pb2 import RunChanged, RunProgress
from soliloquy.v1.runs_pb2 import Run, RunState
from soliloquy_services.gateway.datasets import FIRST_PAUSE_SECONDS, MOST_LOOKS, DatasetLooks, stored
from soliloquy_services.gateway.runs import KnownRun


def known(state: RunState) -> KnownRun:
    changed = RunChanged(run=Run(id="r", growing="g"), state=state)
    return KnownRun(changed=changed, progress=RunProgress(accepted=3, rejected=2))


def write(folder: Path, **rows: int) -> None:
    shards = [Shard(name=f"{kind}/00000.parquet", rows=number, bytes=1, sha256="") for kind, number in rows.items()]
    (folder / "r-g").mkdir(exist_ok=True)
    write_manifest(Storage(folder / "r-g"), {"run": {}, "counts": {}, "cost": {}, "arrival": {}}, shards)


async def test_a_run_is_looked_at_until_all_its_conversations_are_written(tmp_path: Path) -> None:
    looks, run = DatasetLooks(str(tmp_path)), known(RunState.RUN_STATE_FINISHED)
    assert await looks.look([run]) == []
    write(tmp_path, accepted=3, timings=5)
    # Too soon after the first look.
    assert (await looks.look([run]), run.stored) == ([], 0)
    looks._next["r-g"] = (0.0, FIRST_PAUSE_SECONDS)
    assert (await looks.look([run]), run.stored) == ([], 3)
    write(tmp_path, accepted=3, rejected=2, timings=5)
    looks._next["r-g"] = (0.0, FIRST_PAUSE_SECONDS)
    assert (await looks.look([run]), run.is_stored) == (["r-g"], True)
    assert await looks.look([run]) == []
    assert looks._next == {}


async def test_more_runs_than_are_looked_at_in_one_go_are_looked_at_in_the_next(tmp_path: Path) -> None:
    write(tmp_path, accepted=5)
    (tmp_path / "r-g").rename(tmp_path / "several")
    runs = [known(RunState.RUN_STATE_FINISHED) for _ in range(2 * MOST_LOOKS + 1)]
    for number, run in enumerate(runs):
        run.changed.run.id = f"r{number}"
        (tmp_path / run.id).symlink_to(tmp_path / "several")
    looks = DatasetLooks(str(tmp_path))
    assert [len(await looks.look(runs)) for _ in range(4)] == [MOST_LOOKS, MOST_LOOKS, 1, 0]


async def test_a_run_under_way_is_not_looked_at_and_neither_is_one_whose_datasets_are_elsewhere(tmp_path: Path) -> None:
    write(tmp_path, accepted=5)
    run = known(RunState.RUN_STATE_RUNNING)
    assert (await DatasetLooks(str(tmp_path)).look([run]), run.stored) == ([], 0)
    run = known(RunState.RUN_STATE_FINISHED)
    assert (await DatasetLooks(None).look([run]), run.stored) == ([], 0)


def test_a_damaged_manifest_holds_nothing(tmp_path: Path) -> None:
    (tmp_path / "manifest.json").write_text("{", "utf-8")
    assert stored(Storage(tmp_path)) == 0
