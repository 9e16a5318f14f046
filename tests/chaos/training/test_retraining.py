"""Runs the whole circle: a topic, its frozen samples, a training, an evaluation, an adapter in a model service."""

import json
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import pytest
import yaml

from soliloquy.client import Dataset
from soliloquy.runtime.transports.kafka import KafkaSettings
from soliloquy.runtime.transports.opening import open_transport
from soliloquy.v1.conversation_pb2 import Conversation
from soliloquy_services.model.in_process import serve_weights
from soliloquy_training.adapters.registry import Registry
from soliloquy_training.adapters.serving import ModelService
from soliloquy_training.freeze import FINISHED
from tests.integration.training.conftest import SETTINGS
from tests.integration.training.processes import losses
from tests.integration.transport.kafka import fresh_address, settings
from tests.unit.training.growing import conversations
from tests.unit.training.test_freeze import finish

PATIENCE = 400.0
# Set before the test's own loop runs.
GROWN = conversations(6)
_COMMAND = (sys.executable, "-c", "from soliloquy.cli.main import main; main()", "retrain")
_POLICY = """
evaluation = {{ problems = "physics", questions = 1, seed = 3, max_tokens = 40 }}
may_lose = {{ usage = {margin}, verification = {margin} }}
canaries = {{ count = 1, readable = 0.0 }}
"""


@pytest.fixture(scope="module")
def address(base: Path) -> Iterator[str]:
    with serve_weights(base) as address:
        yield address


@dataclass(frozen=True, kw_only=True)
class Command:
    """Runs `soliloquy retrain` in a folder of its own."""

    folder: Path
    base: Path
    connection: KafkaSettings
    address: str
    # The folder of a round's training.
    launch: Sequence[str] = ()

    @property
    def state(self) -> Path:
        return self.folder / "state"

    def line(self, rounds: int, *, margin: float = 0.0) -> list[str]:
        config, policy = self.folder / "smallest.yaml", self.folder / "policy.toml"
        # Workers divide each batch.
        chosen = {"max_steps": 3, "batch": 2 if self.launch else SETTINGS.batch}
        config.write_text(yaml.safe_dump(SETTINGS.model_copy(update=chosen).model_dump(mode="json")), "utf-8")
        policy.write_text(_POLICY.format(margin=margin), "utf-8")
        given = {
            "config": config,
            "base": self.base,
            "name": "tutor",
            "kafka": self.connection.bootstrap,
            "kafka-prefix": self.connection.prefix,
            "every": 2,
            "rounds": rounds,
            "policy": policy,
            "state": self.state,
            "registry": self.folder / "registry",
            "model-address": self.address,
        }
        named = (part for name, value in given.items() for part in (f"--{name}", str(value)))
        return [*_COMMAND, "--json", *self.launch, *named]

    def killed_when(self, rounds: int, happened: Callable[[], object]) -> None:
        """Kills it as soon as something has happened."""
        with subprocess.Popen(self.line(rounds), stdout=subprocess.DEVNULL) as process:
            deadline = time.monotonic() + PATIENCE
            while not happened():
                assert process.poll() is None, "it ended before it could be killed"
                assert time.monotonic() < deadline
                time.sleep(0.01)
            process.kill()

    def learned(self, number: int) -> set[str]:
        return {one.id for one in Dataset(self.state / f"round-{number:04d}" / "data")}


async def published(connection: KafkaSettings, grown: Sequence[Conversation]) -> None:
    async with open_transport(connection) as transport:
        await finish(transport, *grown)


@pytest.mark.timeout(1800)
async def test_what_finishes_on_a_topic_is_learned_evaluated_and_put_into_service_however_often_it_is_killed(
    kafka: str, base: Path, address: str, tmp_path: Path
) -> None:
    connection = settings(await fresh_address(kafka, [FINISHED]))
    command = Command(folder=tmp_path, base=base, connection=connection, address=address)
    await published(connection, GROWN[:2])
    first = command.state / "round-0001"
    # A test without processes covers kills at all other steps.
    for happened in (lambda: losses(first / "training"), (tmp_path / "registry" / "active.json").exists):
        command.killed_when(1, happened)
    await published(connection, [GROWN[1], *GROWN[2:4]])
    done = json.loads(subprocess.run(command.line(2), stdout=subprocess.PIPE, check=True).stdout)["rounds"]
    assert [outcome["outcome"] for outcome in done] == ["activated", "activated"]
    assert [command.learned(number) for number in (1, 2)] == [
        {one.id for one in GROWN[:2]},
        {one.id for one in GROWN[2:4]},
    ]
    assert done[1]["plan"]["onto"] == done[0]["version"]
    active = Registry(str(tmp_path / "registry")).active()["tutor"]
    assert (active.version, active.before) == (done[1]["version"], (done[0]["version"],))
    async with ModelService(address) as service:
        answering = {one.name: one.digest for one in (await service.info()).adapters}["tutor"]
        assert done[1]["version"] == f"tutor@{answering[:12]}"

    # An adapter that must win all cases never does: it is stored, and the active one stays.
    await published(connection, GROWN[4:])
    subprocess.run(command.line(3, margin=-1.0), stdout=subprocess.DEVNULL, check=True)
    worse = json.loads((command.state / "round-0003" / "outcome.json").read_bytes())
    assert (worse["outcome"], worse["plan"]["onto"]) == ("worse", active.version)
    registry = Registry(str(tmp_path / "registry"))
    assert registry.active()["tutor"] == active
    assert registry.find(worse["version"]).note == f"round 3: worse: {worse['reason']}"
    async with ModelService(address) as service:
        assert {one.name: one.digest for one in (await service.info()).adapters} == {"tutor": answering}
    rows = (command.state / "rounds.md").read_text("utf-8").splitlines()[-3:]
    assert [row.split(" | ")[:2] for row in rows] == [["| 1", "2"], ["| 2", "2"], ["| 3", "2"]]


@pytest.mark.timeout(1800)
@pytest.mark.parametrize("launch", [("--workers", "2"), ("--ray", "--workers", "2")], ids=["torchrun", "ray"])
async def test_a_round_is_trained_by_several_workers(
    kafka: str, base: Path, address: str, tmp_path: Path, launch: Sequence[str]
) -> None:
    connection = settings(await fresh_address(kafka, [FINISHED]))
    command = Command(folder=tmp_path, base=base, connection=connection, address=address, launch=launch)
    await published(connection, GROWN[:2])
    [done] = json.loads(subprocess.run(command.line(1), stdout=subprocess.PIPE, check=True).stdout)["rounds"]
    assert done["outcome"] == "activated"
    report = json.loads((command.state / "round-0001" / "training" / "report.json").read_bytes())
    assert report["workers"] == 2
