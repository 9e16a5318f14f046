"""Stages ten faults, one by one, under a run: each alert fires in time and its runbook entry shows the cause.

The rules are ten times as fast as usual; Kubernetes, Kafka and the services are not. What an operator sees is what the
entry's commands print and its panels show. The mend is the entry's own command wherever it has one.
"""

import asyncio
import json
import os
import shutil
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, closing, suppress
from dataclasses import dataclass, field
from http.client import HTTPConnection, HTTPException
from pathlib import Path
from typing import Any

import pytest

from soliloquy.runtime.events import Event
from soliloquy.runtime.transports.kafka import KafkaSettings
from soliloquy.runtime.transports.opening import open_transport
from tests.kafka import processes
from tests.kafka.cluster import KafkaCluster
from tests.node.node import ADDRESS, profile
from tests.node.release import TOKEN, Release, Run
from tests.node.runbook import Operator
from tests.node.watching import watched
from tests.observability.alerting import Alerts
from tests.observability.asking import Asked

pytestmark = pytest.mark.timeout(900)

HASTE = 10
_MODEL = f"{ADDRESS}:8100"
_STRANGERS = [f"198.19.0.{number}" for number in range(10, 26)]
_FIRES_SECONDS = 240.0
# What is left of the volume: less than the alert's 3 %, and enough for a while.
_ROOM_BYTES = 3 * 2**20
# Pods, sessions and clients take their own time, which is not hastened.
_OWN_SECONDS = 60.0
# An operator's time from the alert to the beginning of the mend.
_LOOK_SECONDS = 90.0


@dataclass(kw_only=True)
class Stage:
    release: Release
    kafka: KafkaCluster
    alerts: Alerts
    operator: Operator
    run: Run
    folder: Path
    model: list[subprocess.Popen[bytes]] = field(default_factory=list)

    def start_model(self, *options: str) -> None:
        self.stop_model()
        command = [sys.executable, "-m", "benchmarks.endpoint", "--http", _MODEL, *options]
        self.model.append(processes.start(command, self.folder / "model.log"))

    def stop_model(self) -> None:
        processes.end(self.model, seconds=10)
        self.model.clear()

    def finds(self, alert: str, since: float) -> tuple[dict[str, Any], str]:
        """Returns the alert, and what its entry has an operator see."""
        found = self.alerts.fires(alert, _FIRES_SECONDS)
        seconds = time.monotonic() - since
        seen = self.operator.look(found)
        looked = time.monotonic() - since - seconds
        print(f"\n{alert} after {seconds:.1f} s, looked at within {looked:.1f} s: {found['annotations']['summary']}")
        print(seen)
        assert seconds < self.alerts.window(alert) + _OWN_SECONDS, f"{alert} took {seconds:.1f} s"
        assert looked < _LOOK_SECONDS
        return found, seen

    def mend(self, alert: dict[str, Any], beginning: str) -> None:
        """Does the command of the entry that begins so."""
        [command] = [each for each in self.operator.commands(alert) if each.startswith(beginning)]
        print(f"$ {command}\n{self.operator.shell(command, alert)}")

    def recovers(self, *alerts: str) -> None:
        """Returns when the alerts are over and the run goes on."""
        for alert in alerts:
            self.alerts.clears(alert)
        self.release.ready("gateway")
        self.run.reach(self.run.accepted + 3)


@pytest.fixture(scope="module")
def stage(release: Release, kafka: KafkaCluster, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stage]:
    folder = tmp_path_factory.mktemp("stage")
    with ExitStack() as opened:
        model: list[subprocess.Popen[bytes]] = []
        opened.callback(lambda: processes.end(model, seconds=10))
        release.upgrade(
            "model.engine=openai",
            f"model.baseUrl=http://{_MODEL}/v1",
        )
        opened.callback(release.rollback)
        alerts, running = opened.enter_context(watched(release, folder, HASTE))
        staged = Stage(
            release=release,
            kafka=kafka,
            alerts=alerts,
            operator=Operator(release=release, asked=Asked(running.address), token=TOKEN),
            run=release.start(conversations=100_000, seed=5),
            folder=folder,
            model=model,
        )
        staged.start_model()
        staged.run.reach(3)
        yield staged
        release.soliloquy("runs", "cancel", staged.run.id, *release.reach())


def test_a_model_that_is_away(stage: Stage) -> None:
    stage.stop_model()
    _, seen = stage.finds("SoliloquyModelShut", time.monotonic())
    stage.start_model()
    stage.recovers("SoliloquyModelShut")
    assert f"cannot connect to {_MODEL}" in seen


def test_a_model_that_throttles(stage: Stage) -> None:
    stage.start_model("--fault=throttled=0.8", "--retry-after=0")
    _, seen = stage.finds("SoliloquyModelFaults", time.monotonic())
    stage.start_model()
    stage.recovers("SoliloquyModelFaults")
    assert "'kind': 'throttled'" in seen


def test_a_model_that_refuses_what_it_is_asked(stage: Stage) -> None:
    (key := stage.folder / "key").write_text("another", "utf-8")
    stage.start_model(f"--key-file={key}")
    alert, seen = stage.finds("SoliloquyDeadLetters", time.monotonic())
    stage.start_model()
    stage.mend(alert, "kubectl -n $NS exec deployment/$NAME-gateway -- soliloquy dlq replay")
    stage.recovers("SoliloquyDeadLetters")
    assert f"(http://{_MODEL}/v1, model 'default') refused (401" in seen


def test_a_kafka_that_is_away(stage: Stage) -> None:
    stage.kafka.stop_node(1)
    _, seen = stage.finds("SoliloquyKafkaUnreachable", time.monotonic())
    stage.kafka.start_node(1)
    stage.recovers("SoliloquyKafkaUnreachable")
    assert "no broker has answered curriculum" in seen


def test_a_rollout_with_wrong_settings(stage: Stage) -> None:
    deployment = "deployment/lab-soliloquy-tutor"
    stage.release.kubectl("set", "env", deployment, "SOLILOQUY_BASE_URL=model:8000")
    alert, seen = stage.finds("SoliloquyTargetDown", time.monotonic())
    alert["labels"]["service"] = "tutor"
    stage.mend(alert, "kubectl -n $NS rollout undo")
    stage.recovers("SoliloquyTargetDown")
    assert "'model:8000' is not a URL" in seen
    assert "Exit Code:    2" in seen


def test_a_node_that_lacks_the_executors_profile(stage: Stage) -> None:
    place = profile(stage.release.node.state)
    profile_text = place.read_text("utf-8")
    place.unlink()
    stage.release.kubectl("delete", "pod", stage.release.pod("executor"))
    alert, seen = stage.finds("SoliloquyServiceAbsent", time.monotonic())
    [printing] = [each for each in stage.operator.commands(alert) if "configmap" in each]
    place.write_text(stage.operator.shell(printing, alert), "utf-8")
    assert json.loads(place.read_bytes()) == json.loads(profile_text)
    stage.recovers("SoliloquyServiceAbsent", "SoliloquyTargetDown")
    assert alert["labels"]["service"] == "executor"
    assert "soliloquy/executor.json" in seen


def test_a_gateway_that_nobody_wants(stage: Stage) -> None:
    stage.release.kubectl("scale", "deployment/lab-soliloquy-gateway", "--replicas=0")
    alert, seen = stage.finds("SoliloquyGatewayAbsent", time.monotonic())
    stage.mend(alert, "kubectl -n $NS scale")
    stage.recovers("SoliloquyGatewayAbsent")
    assert "0/0" in seen


def test_callers_without_a_token(stage: Stage) -> None:
    done = threading.Event()
    [pod] = stage.release.pods("gateway")
    host = pod["status"]["podIP"]
    for address in _STRANGERS:
        subprocess.run(["ip", "address", "add", f"{address}/16", "dev", "pods"], check=True)

    def knock(address: str) -> None:
        # One address may try once a second.
        while not done.wait(0.5):
            with (
                suppress(OSError, HTTPException),
                closing(HTTPConnection(host, 8080, timeout=10, source_address=(address, 0))) as connection,
            ):
                connection.request("GET", "/v1/runs")
                connection.getresponse().read()

    with ThreadPoolExecutor(len(_STRANGERS)) as strangers:
        began = time.monotonic()
        for address in _STRANGERS:
            strangers.submit(knock, address)
        try:
            _, seen = stage.finds("SoliloquyGatewayStrangers", began)
        finally:
            done.set()
    assert any(address in seen for address in _STRANGERS)
    stage.recovers("SoliloquyGatewayStrangers")


def test_a_volume_that_is_full(stage: Stage) -> None:
    filler, free = stage.release.volume / "filler", shutil.disk_usage(stage.release.volume).free
    # An open file would keep its room when it is deleted.
    with filler.open("wb") as file:
        os.posix_fallocate(file.fileno(), 0, free - _ROOM_BYTES)
    alert, seen = stage.finds("SoliloquyVolumeFull", time.monotonic())
    _, ended = stage.finds("SoliloquyTargetDown", time.monotonic())
    # A container that has ended has no shell.
    stage.mend(alert, "kubectl -n $NS debug")
    stage.release.kubectl("wait", "pod/lab-soliloquy-disk", "--for=condition=Ready", "--timeout=60s")
    assert "filler" in stage.operator.shell("kubectl -n $NS exec $NAME-disk -- ls /data", alert)
    filler.unlink()
    stage.mend(alert, "kubectl -n $NS delete pod $NAME-disk")
    stage.release.ready("collector")
    stage.recovers("SoliloquyVolumeFull", "SoliloquyTargetDown")
    assert "No space left on device" in ended
    assert "lab-soliloquy-collector-0" in seen
    assert "filler" in seen


def test_an_event_that_nobody_can_read(stage: Stage) -> None:
    poison = Event(id="poison", topic="student.replied", key="poison", payload=b"\xff", source="test", time=time.time())

    async def publish() -> None:
        async with open_transport(KafkaSettings(bootstrap=stage.kafka.bootstrap)) as transport:
            await transport.publish([poison])

    asyncio.run(publish())
    alert, seen = stage.finds("SoliloquyDeadLetters", time.monotonic())
    assert alert["labels"]["topic"] == "student.replied"
    assert "poison" in seen
    stage.recovers()
