"""All replicas have an adapter or none has it, whatever their number and whenever they start."""

import asyncio
from pathlib import Path

import pytest

from benchmarks.echo import Echo
from soliloquy.v1.model_pb2 import Adapter
from soliloquy_services.model.adapter_catalog import GONE_SECONDS, AdapterCatalog, ReplicaStatus, SharedAdapters
from soliloquy_services.model.engines.engine import MissingWeights, UnknownAdapter


class Clock:
    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now


class Engine(Echo):
    """Fails to load the adapters in `lacks`; breaks on demand."""

    def __init__(self) -> None:
        super().__init__()
        self.lacks: set[str] = set()
        self.broken = False

    async def unload_adapter(self, name: str) -> None:
        if self.broken:
            raise RuntimeError("out of order")
        await super().unload_adapter(name)

    async def load_adapter(self, adapter: Adapter) -> Adapter:
        if adapter.name in self.lacks:
            raise MissingWeights(f"{adapter.path} is not on this machine")
        return await super().load_adapter(adapter)


class Replica:
    def __init__(self, shelf: AdapterCatalog, name: str) -> None:
        self.engine = Engine()
        self.shared = SharedAdapters(self.engine, shelf, replica=name)

    @property
    def names(self) -> list[str]:
        return sorted(adapter.name for adapter in self.engine.adapters())


@pytest.fixture
def adapter(tmp_path: Path) -> Adapter:
    return weights(tmp_path, "tutor")


def weights(folder: Path, name: str) -> Adapter:
    path = folder / name
    path.mkdir()
    (path / "adapter_model.safetensors").write_text(name)
    return Adapter(name=name, path=str(path))


async def replicas(shelf: AdapterCatalog, *names: str) -> list[Replica]:
    made = [Replica(shelf, name) for name in names]
    for replica in made:
        await replica.shared.start()
    return made


async def test_a_loaded_adapter_is_on_every_replica_when_the_call_returns(adapter: Adapter) -> None:
    shelf = AdapterCatalog([])
    one, other = await replicas(shelf, "one", "other")
    loaded = await one.shared.load_adapter(adapter)
    assert list(other.engine.adapters()) == list(one.engine.adapters()) == [loaded]
    await other.shared.unload_adapter("tutor")
    assert one.names == other.names == []
    for replica in (one, other):
        await replica.shared.stop()


async def test_a_replica_that_starts_later_has_what_the_others_have(tmp_path: Path, adapter: Adapter) -> None:
    first = weights(tmp_path, "from the start")
    shelf = AdapterCatalog([first])
    [one] = await replicas(shelf, "one")
    await one.shared.load_adapter(adapter)
    [late] = await replicas(shelf, "late")
    assert late.names == ["from the start", "tutor"]
    for replica in (one, late):
        await replica.shared.stop()


async def test_what_one_replica_cannot_load_is_left_on_none(adapter: Adapter, tmp_path: Path) -> None:
    shelf = AdapterCatalog([])
    one, other = await replicas(shelf, "one", "other")
    before = await one.shared.load_adapter(adapter)
    other.engine.lacks.add("composer")
    with pytest.raises(MissingWeights, match=r"another replica could not load the adapter: .* is not on this machine"):
        await one.shared.load_adapter(weights(tmp_path, "composer"))
    assert list(one.engine.adapters()) == list(other.engine.adapters()) == [before]
    for replica in (one, other):
        await replica.shared.stop()


async def test_an_adapter_that_cannot_be_loaded_at_the_start_keeps_a_replica_from_serving(tmp_path: Path) -> None:
    replica = Replica(AdapterCatalog([Adapter(name="tutor", path=str(tmp_path))]), "one")
    with pytest.raises(MissingWeights, match=r"is not an adapter: missing adapter_model\.safetensors"):
        await replica.shared.start()


async def test_a_replica_that_follows_no_more_has_a_fault(adapter: Adapter) -> None:
    shelf = AdapterCatalog([])
    one, other = await replicas(shelf, "one", "other")
    await one.shared.load_adapter(adapter)
    assert other.shared.fault == ""
    other.engine.broken = True
    taking = asyncio.create_task(one.shared.unload_adapter("tutor"))
    async with asyncio.timeout(120):
        while not other.shared.fault:
            assert not taking.done()
            await asyncio.sleep(0)
    assert "out of order" in other.shared.fault
    await shelf.leave("other")
    await taking
    await one.shared.stop()


async def test_unloading_what_is_not_there_is_refused(adapter: Adapter) -> None:
    [one] = await replicas(AdapterCatalog([]), "one")
    await one.shared.load_adapter(adapter)
    with pytest.raises(UnknownAdapter, match="no adapter 'composer' is loaded; loaded are: tutor"):
        await one.shared.unload_adapter("composer")
    await one.shared.stop()


async def test_a_shelf_that_was_lost_is_filled_again_by_a_replica(adapter: Adapter) -> None:
    [one] = await replicas(AdapterCatalog([]), "one")
    loaded = await one.shared.load_adapter(adapter)
    status = ReplicaStatus(replica="one", version=2, adapters=(loaded,))
    empty = AdapterCatalog([])
    assert await empty.follow(status, 0.0) == (2, list(status.adapters))
    [late] = await replicas(empty, "late")
    assert late.names == ["tutor"]
    for replica in (one, late):
        await replica.shared.stop()


async def put_with_two(shelf: AdapterCatalog) -> asyncio.Task[str]:
    """Puts an adapter that one of two replicas has loaded and the other has not."""
    await shelf.follow(ReplicaStatus(replica="other", version=1), 0.0)
    following = asyncio.create_task(shelf.follow(ReplicaStatus(replica="one", version=1), 5.0))
    putting = asyncio.create_task(shelf.put(Adapter(name="tutor", path="/weights")))
    version, _ = await following
    await shelf.follow(ReplicaStatus(replica="one", version=version), 0.0)
    assert not putting.done()
    return putting


async def test_a_replica_that_died_is_waited_for_only_until_it_is_gone() -> None:
    clock = Clock()
    shelf = AdapterCatalog([], clock)
    putting = await put_with_two(shelf)
    clock.now = GONE_SECONDS
    await shelf.follow(ReplicaStatus(replica="one", version=2), 0.0)
    assert await putting == ""


async def test_a_replica_that_ends_is_not_waited_for() -> None:
    shelf = AdapterCatalog([])
    putting = await put_with_two(shelf)
    await shelf.leave("other")
    assert await putting == ""
