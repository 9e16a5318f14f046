"""Ray's head dies, and another finds in a Redis what the first one knew: whoever asks the model notices nothing."""

import asyncio
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, TypeVar

import grpc
import pytest

from soliloquy.v1 import model_pb2 as pb
from soliloquy.v1.model_pb2_grpc import ModelServiceStub
from soliloquy_services.model.serving import SERVICER
from tests.integration.model.asking import short
from tests.servers.ray_cluster import GRPC_PORT, HTTP_PORT, START_SECONDS, RayCluster
from tests.waiting import until

pytestmark = pytest.mark.timeout(3600)

CALLERS = 2
# Between the calls of a caller: the heads are to have a part of the machine.
PAUSE_SECONDS = 0.3
SECONDS = 120.0
T = TypeVar("T")


@pytest.fixture
def cluster(tmp_path: Path) -> Iterator[RayCluster]:
    with RayCluster(tmp_path) as cluster:
        yield cluster


def service(base: Path) -> dict[str, Any]:
    """What the chart has Ray Serve run."""
    args = {"engine": "transformers", "model": str(base), "min_replicas": 1, "max_replicas": 1}
    return {
        "proxy_location": "EveryNode",
        "http_options": {"host": "0.0.0.0", "port": HTTP_PORT},
        "grpc_options": {"port": GRPC_PORT, "grpc_servicer_functions": [SERVICER]},
        "applications": [
            {
                "name": "model",
                "route_prefix": "/",
                "import_path": "soliloquy.cli.model_app:build",
                "args": args | {"gpus": 0, "max_queued": 512, "grace": 5},
            }
        ],
    }


def running(cluster: RayCluster) -> dict[str, Any] | None:
    """Returns what would change if the application were deployed anew; None unless it runs."""
    application = cluster.application("model")
    if application is None or application["status"] != "RUNNING":
        return None
    replicas = application["deployments"]["model"]["replicas"]
    return {
        "deployed": application["last_deployed_time_s"],
        "replicas": [
            {name: each.get(name) for name in ("replica_id", "pid", "actor_id", "state")} for each in replicas
        ],
    }


async def eventually(cluster: RayCluster, found: Callable[[], T | None]) -> T:
    deadline = time.monotonic() + START_SECONDS
    while (value := await asyncio.to_thread(found)) is None:
        assert time.monotonic() < deadline, cluster.said()
        await asyncio.sleep(1.0)
    return value


async def load(stub: Any, name: str, adapter: pb.Adapter) -> str:
    asked = pb.LoadAdapterRequest(adapter=pb.Adapter(name=name, path=adapter.path))
    digest: str = (await stub.LoadAdapter(asked, timeout=SECONDS)).adapter.digest
    return digest


class Calls:
    """Asks one adapter all the time; a caller ends with its first failure, and tries no call again."""

    def __init__(self, stub: Any, adapter: str) -> None:
        self._stub, self._adapter = stub, adapter
        self.digests: list[str] = []
        self.failures: list[str] = []

    async def __aenter__(self) -> "Calls":
        self._calling = [asyncio.create_task(self._call()) for _ in range(CALLERS)]
        return self

    async def __aexit__(self, *_: object) -> None:
        for each in self._calling:
            each.cancel()
        await asyncio.gather(*self._calling, return_exceptions=True)

    async def more(self, answers: int = 30) -> None:
        wanted = len(self.digests) + answers
        await until(lambda: self.failures or len(self.digests) >= wanted, SECONDS)

    async def _call(self) -> None:
        while True:
            try:
                answer = await self._stub.Generate(short(self._adapter), timeout=SECONDS)
                self.digests.append(answer.adapter_digest)
                await asyncio.sleep(PAUSE_SECONDS)
            except grpc.aio.AioRpcError as error:
                self.failures.append(f"{error.code()}: {error.details()}")
                return


async def test_a_head_comes_back_and_calls_replicas_and_adapters_have_gone_on(
    cluster: RayCluster, base: Path, adapters: list[pb.Adapter]
) -> None:
    def deployed() -> bool | None:
        try:
            cluster.deploy(service(base))
        except OSError:
            return None if cluster.application("model") is None else True
        return True

    await eventually(cluster, deployed)
    before = await eventually(cluster, lambda: running(cluster))
    async with grpc.aio.insecure_channel(cluster.address) as channel:
        stub: Any = ModelServiceStub(channel)
        digest = await load(stub, "tutor", adapters[0])
        async with Calls(stub, "tutor") as calls:
            await calls.more()
            cluster.kill_head()
            killed = time.monotonic()
            await until(lambda: cluster.application("model") is None)
            await calls.more()
            without = len(calls.digests)
            cluster.start_head()
            after = await eventually(cluster, lambda: running(cluster))
            print(f"\na head after {time.monotonic() - killed:.0f} s, {len(calls.digests) - without} answers meanwhile")
            await calls.more()
        assert (calls.failures, set(calls.digests)) == ([], {digest})
        assert after == before
        other = await load(stub, "other", adapters[1])
        answer = await stub.Generate(short("other"), timeout=SECONDS)
        assert answer.adapter_digest == other != digest
