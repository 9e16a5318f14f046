"""Faults staged one after the other in one installation, with a gateway and a model that may be harmed.

Each alert comes within its window, and what its entry in the runbook says to look at tells the cause. Of the rules, a
minute passes in three seconds.
"""

import asyncio
import hashlib
import os
import signal
import subprocess
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, closing, suppress
from dataclasses import dataclass, field
from http.client import HTTPConnection, HTTPException
from pathlib import Path

import pytest

from soliloquy.problems.files.problem_row import problem_line
from soliloquy.problems.sources import problem_source
from soliloquy.runtime.events import Event
from soliloquy.runtime.transports.opening import open_transport
from tests.chaos.kafka.installation import Installation, free_ports, until
from tests.e2e.runs import SOLILOQUY, said
from tests.kafka import processes
from tests.kafka.cluster import KafkaCluster
from tests.observability.alerting import Alerts, watching
from tests.observability.serving import reach, serving

HASTE = 20
TOKEN = "olga's token"
TOKENS = '[[token]]\nname = "olga"\nrole = "operator"\nsha256 = "{}"\n'
STRANGERS = 16


@dataclass(kw_only=True)
class Stage:
    kafka: KafkaCluster
    installation: Installation
    alerts: Alerts
    folder: Path
    model_port: int
    grpc: str
    http: str
    metrics: str
    # What ends the gateway.
    gateway: ExitStack
    # What processes ask for a model.
    asks: list[str]
    model: list[subprocess.Popen[bytes]] = field(default_factory=list)

    def start_model(self, *options: str) -> None:
        self.stop_model()
        command = [SOLILOQUY, "model", "fake", "--http", f"127.0.0.1:{self.model_port}", *options]
        self.model.append(processes.start(command, self.folder / "fake.log"))

    def stop_model(self) -> None:
        processes.end(self.model, seconds=10)
        self.model.clear()

    def start_gateway(self) -> None:
        options = [*self.asks, "--listen", self.http, "--grpc", self.grpc, "--tokens", str(self.folder / "tokens.toml")]
        options += ["--problem-files", str(self.folder / "problems")]
        log = self.folder / "gateway.log"
        self.gateway.enter_context(serving("gateway", self.installation.settings, self.metrics, log, options))

    def runs(self, *words: str) -> str:
        told = said([SOLILOQUY, "runs", *words, "--gateway", self.grpc], environment={"SOLILOQUY_TOKEN": TOKEN})
        assert told.returncode == 0, told.stderr
        return told.stdout

    def start_run(self, problems: str, conversations: int) -> str:
        wanted = ["--problems", problems, "--conversations", str(conversations), "--in-flight", "8"]
        return self.runs("start", *wanted).split()[0]

    def reason(self, post: str) -> str:
        """Returns what the process says of why it does not consume."""
        [address] = [address for address, name in self.installation.addresses.items() if name == post]
        told = subprocess.run(["curl", "-s", f"{address}/readyz"], capture_output=True, text=True, check=False)
        return told.stdout

    def fires(self, alert: str, since: float) -> dict[str, str]:
        told = self.alerts.fires(alert, 240.0)
        seconds = time.monotonic() - since
        print(f"\n{alert} after {seconds:.1f} s, at {HASTE} times the pace: {told['annotations']['summary']}")
        # Clients notice in their own time, which is not hastened.
        assert seconds < self.alerts.window(alert) + 30, f"{alert} took {seconds:.1f} s"
        labels: dict[str, str] = told["labels"]
        return labels

    def quiet(self) -> None:
        # A run that ended short is told for an hour, of which nothing is hastened.
        until(lambda: self.alerts.firing().keys() <= {"SoliloquyRunEndedShort"}, "alerts stay", 240)


@pytest.fixture(scope="module")
def stage(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stage]:
    folder = tmp_path_factory.mktemp("stage")
    model_port, own, metrics, http, grpc = free_ports(5)
    (folder / "tokens.toml").write_text(TOKENS.format(hashlib.sha256(TOKEN.encode()).hexdigest()), "utf-8")
    (folder / "problems").mkdir()
    bank = problem_source("physics")
    lines = [problem_line(bank.problem(0, number), {}) for number in range(3)]
    (folder / "problems" / "three.jsonl").write_text("".join(lines), "utf-8")
    with ExitStack() as opened:
        kafka = opened.enter_context(KafkaCluster(folder / "kafka"))
        asks = ["--model", "openai", "--base-url", f"http://127.0.0.1:{model_port}/v1"]
        installation = Installation(folder, kafka.bootstrap, *asks)
        gateway = opened.enter_context(ExitStack())
        staged = Stage(
            kafka=kafka,
            installation=installation,
            alerts=None,  # type: ignore[arg-type]
            folder=folder,
            model_port=model_port,
            grpc=f"127.0.0.1:{grpc}",
            http=f"127.0.0.1:{http}",
            metrics=f"127.0.0.1:{metrics}",
            gateway=gateway,
            asks=asks,
        )
        staged.start_model()
        opened.callback(staged.stop_model)
        opened.enter_context(installation)
        staged.start_gateway()
        targets = installation.addresses | {staged.metrics: "gateway-0"}
        staged.alerts = opened.enter_context(watching(targets, own, folder, HASTE))
        yield staged


pytestmark = pytest.mark.timeout(600)


def test_a_run_without_enough_problems_is_told_with_its_name_and_who_requested_it(stage: Stage) -> None:
    run = stage.start_run("three.jsonl", 20)
    until(lambda: "short" in stage.runs("show", run), "the run is not over", 120)
    labels = stage.fires("SoliloquyRunEndedShort", time.monotonic())
    assert labels["run"].startswith(run)
    assert labels["requested_by"] == "olga"
    assert "short" in stage.runs("show", run)


def test_a_model_that_is_away_is_told_with_its_address(stage: Stage) -> None:
    run = stage.start_run("physics", 5000)
    until(lambda: stage.installation.metric("student-0", "soliloquy_model_calls_total") > 20, "no call", 60)
    stage.stop_model()
    stage.fires("SoliloquyModelShut", time.monotonic())
    assert f"127.0.0.1:{stage.model_port}" in stage.reason("student-0")
    stage.start_model()
    stage.alerts.clears("SoliloquyModelShut")
    stage.runs("cancel", run)


def test_a_model_that_throttles_is_told_by_the_kind_of_fault(stage: Stage) -> None:
    stage.start_model("--fault", "throttled=0.8", "--retry-after", "0")
    run = stage.start_run("physics", 5000)
    stage.fires("SoliloquyModelFaults", time.monotonic())
    kinds = {
        sample.labels["kind"] for sample in stage.installation.samples("student-0", "soliloquy_model_faults_total")
    }
    assert "throttled" in kinds
    stage.start_model()
    stage.runs("cancel", run)
    stage.alerts.clears("SoliloquyModelFaults")


def test_a_kafka_that_is_away_is_told_as_such(stage: Stage) -> None:
    stage.quiet()
    stage.kafka.stop_node(1)
    stage.fires("SoliloquyKafkaUnreachable", time.monotonic())
    assert "broker" in stage.reason("curriculum-0")
    stage.kafka.start_node(1)
    stage.alerts.clears("SoliloquyKafkaUnreachable")
    stage.quiet()


def test_a_stage_that_hangs_is_told_and_then_the_run_that_waits_for_it(stage: Stage) -> None:
    run = stage.start_run("physics", 5000)
    until(lambda: stage.installation.metric("tutor-0", "soliloquy_events_succeeded_total") > 20, "no event", 60)
    stage.installation.signal("tutor-0", signal.SIGSTOP)
    hung = time.monotonic()
    labels = stage.fires("SoliloquyTargetDown", hung)
    assert labels["pod"] == "tutor-0"
    labels = stage.fires("SoliloquyRunStandsStill", hung)
    assert labels["run"].startswith(run)
    stage.installation.signal("tutor-0", signal.SIGCONT)
    stage.alerts.clears("SoliloquyRunStandsStill")
    stage.runs("cancel", run)
    stage.quiet()


def test_a_letter_that_nobody_can_read_is_told_with_its_topic(stage: Stage) -> None:
    poison = Event(id="poison", topic="student.replied", key="poison", payload=b"\xff", source="test", time=time.time())

    async def publish() -> None:
        async with open_transport(stage.installation.settings) as transport:
            await transport.publish([poison])

    asyncio.run(publish())
    labels = stage.fires("SoliloquyDeadLetters", time.monotonic())
    assert labels["topic"] == "student.replied"
    assert "poison" in said([SOLILOQUY, "dlq", "list", *reach(stage.installation.settings)]).stdout


def test_callers_without_a_token_are_told_and_their_address_is_in_the_log(stage: Stage) -> None:
    done = threading.Event()
    host, _, port = stage.http.rpartition(":")

    def knock(number: int) -> None:
        # One address may try once a second.
        while not done.wait(0.5):
            with (
                suppress(OSError, HTTPException),
                closing(
                    HTTPConnection(host, int(port), timeout=10, source_address=(f"127.0.1.{number + 1}", 0))
                ) as connection,
            ):
                connection.request("GET", "/v1/runs")
                connection.getresponse().read()

    with ThreadPoolExecutor(STRANGERS) as strangers:
        began = time.monotonic()
        for number in range(STRANGERS):
            strangers.submit(knock, number)
        try:
            stage.fires("SoliloquyGatewayStrangers", began)
        finally:
            done.set()
    assert "127.0.1.1" in (stage.folder / "gateway.log").read_text("utf-8")
    stage.alerts.clears("SoliloquyGatewayStrangers")


def test_a_gateway_that_is_gone_is_told_while_it_has_runs(stage: Stage) -> None:
    run = stage.start_run("physics", 5000)
    stage.alerts.wait_for_value('sum(soliloquy_gateway_runs{state="running"})', lambda runs: runs >= 1)
    stage.gateway.close()
    stage.fires("SoliloquyGatewayAbsent", time.monotonic())
    stage.start_gateway()
    stage.alerts.clears("SoliloquyGatewayAbsent")
    assert "running" in stage.runs("show", run)
    stage.runs("cancel", run)


@pytest.mark.skipif(os.geteuid() != 0, reason="only root may mount a small disk")
def test_a_collector_without_room_is_told_until_there_is_room(stage: Stage) -> None:
    data = stage.installation.data
    run = stage.start_run("physics", 5000)
    until(lambda: any(path.is_dir() for path in data.iterdir()), "no dataset", 60)
    filler = data / "filler"
    mounted = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=64k", "tmpfs", str(data)], capture_output=True, text=True, check=False
    )
    if mounted.returncode:
        pytest.skip(f"no disk can be mounted here: {mounted.stderr.strip()}")
    try:
        with filler.open("wb") as full:
            full.write(b"\0" * 60_000)
        stage.fires("SoliloquyCollectorNotWriting", time.monotonic())
        print(stage.reason("collector-0"))
    finally:
        subprocess.run(["umount", "-l", str(data)], check=True)
    stage.alerts.clears("SoliloquyCollectorNotWriting")
    stage.runs("cancel", run)
