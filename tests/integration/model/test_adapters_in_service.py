"""Adapters are activated and rolled back on two running replicas without a lost request."""

import asyncio
import os
import shutil
from functools import partial
from importlib.util import find_spec
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from soliloquy.cli.main import commands
from soliloquy.runtime.weights import base_digest
from soliloquy.v1.model_pb2 import Adapter
from soliloquy_training.adapters.registry import Registry
from tests.integration.model.asking import short
from tests.integration.model.serving import Load
from tests.unit.training.adapters.folders import front_matter

# In CI a missing library is a failure, not a reason to skip.
pytestmark = [
    pytest.mark.thorough,
    pytest.mark.skipif(
        not (find_spec("ray") and find_spec("torch")) and os.environ.get("CI") != "true",
        reason="Ray Serve or torch is missing: pip install 'soliloquy-tutor[serve]'",
    ),
]


@pytest.fixture
def port(replicas: tuple[int, int]) -> int:
    return replicas[0]


@pytest.fixture(scope="module")
def registry(base: Path, adapters: list[Adapter], tmp_path_factory: pytest.TempPathFactory) -> Registry:
    """Returns a registry with both adapters under one name."""
    folder = tmp_path_factory.mktemp("kept")
    where = folder / "registry"
    for adapter in adapters:
        made = shutil.copytree(adapter.path, folder / adapter.name)
        (made / "README.md").write_text(front_matter(base_digest(base)), "utf-8")
        pushed = command("push", str(made), "--name", "tutor", "--registry", str(where))
        assert pushed.exit_code == 0, pushed.output
    return Registry(str(where))


def command(*arguments: str) -> Result:
    return CliRunner().invoke(commands, ["adapters", *arguments])


async def told(registry: Registry, port: int, *arguments: str) -> Result:
    where = ["--registry", str(registry), "--model-address", f"127.0.0.1:{port}"]
    return await asyncio.to_thread(command, *arguments, *where)


async def test_adapters_come_and_go_under_load_without_a_lost_request(port: int, registry: Registry) -> None:
    first, other = registry.versions()
    begun = await told(registry, port, "activate", first.id, "--readable", "0")
    assert (begun.exit_code, begun.output) == (0, f"active: {first.id}\n")
    async with Load(port=port, make=partial(short, "tutor"), callers=4) as load:
        assert await load.digests() == {first.digest}
        await told(registry, port, "activate", other.id, "--readable", "0")
        assert await load.digests() == {other.digest}
        back = await told(registry, port, "rollback", "tutor")
        assert await load.digests() == {first.digest}
    assert load.failures == []
    assert (back.exit_code, back.output) == (0, f"active: {first.id}\n")
    assert (registry.active()["tutor"].version, registry.active()["tutor"].before) == (first.id, ())
