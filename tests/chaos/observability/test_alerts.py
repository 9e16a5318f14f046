"""A real Prometheus over real services at work: the right alerts fire within their windows, and clear afterwards.

Of the rules, a minute passes in three seconds.
"""

import asyncio
import os
import shutil
import signal
import time
import uuid
from collections.abc import Callable
from pathlib import Path

import pytest
from prometheus_client.parser import text_string_to_metric_families

from benchmarks.processes import family, stats
from soliloquy.runtime.events import Event, first_event
from soliloquy.runtime.transports.kafka import KafkaSettings
from soliloquy.runtime.transports.kafka.layout import apply
from soliloquy.runtime.transports.opening import open_transport
from soliloquy.v1.conversation_pb2 import Conversation, Problem
from soliloquy.v1.events_pb2 import CodeWritten
from tests.chaos.kafka.installation import Installation, free_ports, until
from tests.chaos.kafka.run import Run
from tests.e2e.runs import SOLILOQUY, kill, said
from tests.observability.alerting import Alerts, watching
from tests.observability.serving import answer, reach, serving

HASTE = 20
CONVERSATIONS = 1000
IN_FLIGHT = 16
LATENCY = ("--latency", "100ms")
CALCULATIONS = 20
RUNSC = """#!/bin/sh
[ ! -e {broken} ] || {{ echo "out of order" >&2; exit 1; }}
exec {runsc} "$@"
"""


def quiet(alerts: Alerts) -> None:
    """Returns when nothing fires: on a busy machine a scrape may have come too late."""
    until(lambda: alerts.firing() == {}, "alerts stay", 120)


def fires(alerts: Alerts, alert: str, since: float) -> None:
    """Expects an alert within its window."""
    told = alerts.fires(alert)
    seconds = time.monotonic() - since
    assert seconds < alerts.window(alert), f"{alert} took {seconds:.1f} s"
    print(f"\n{alert} fired after {seconds:.1f} s: {told['annotations']['summary']}")


@pytest.mark.timeout(900)
def test_a_service_that_is_killed_under_load_is_told_until_it_is_back(kafka: str, tmp_path: Path) -> None:
    [port] = free_ports(1)
    with (
        Installation(tmp_path, kafka, *LATENCY) as installation,
        watching(installation.addresses, port, tmp_path, HASTE) as alerts,
        Run(installation, tmp_path / "out", conversations=CONVERSATIONS, in_flight=IN_FLIGHT) as run,
    ):
        run.reach(5)
        quiet(alerts)
        # Nothing restarts it, as on a machine without room.
        installation.signal_up(signal.SIGSTOP)
        installation.kill("student-0")
        killed_at = time.monotonic()
        for alert in ("SoliloquyTargetDown", "SoliloquyServiceAbsent"):
            fires(alerts, alert, killed_at)
        assert alerts.firing()["SoliloquyServiceAbsent"]["labels"]["service"] == "student"
        assert alerts.firing()["SoliloquyTargetDown"]["labels"]["pod"] == "student-0"
        installation.signal_up(signal.SIGCONT)
        for alert in ("SoliloquyTargetDown", "SoliloquyServiceAbsent"):
            print(f"{alert} cleared {alerts.clears(alert):.1f} s later")
        run.reach(run.collected + 20)
        quiet(alerts)


async def publish(settings: KafkaSettings, calculations: range) -> None:
    async with open_transport(settings) as transport:
        await transport.publish([calculation(number) for number in calculations])


def calculation(number: int) -> Event:
    conversation = Conversation(id=f"c{number}", problem=Problem(question="How far?"))
    conversation.run.id = "r1"
    turn = conversation.turns.add(number=1)
    turn.calculation.attempts.add(code=f"x = {number} + 1", result_variables=["x"])
    return first_event(CodeWritten(conversation=conversation), source="test", time=time.time())


@pytest.mark.timeout(900)
def test_sandboxes_that_cannot_start_and_their_dead_letters_are_told_until_they_are_mended(
    kafka: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    broken, runsc = tmp_path / "broken", tmp_path / "bin" / "runsc"
    runsc.parent.mkdir()
    runsc.write_text(RUNSC.format(broken=broken, runsc=shutil.which("runsc")), "utf-8")
    runsc.chmod(0o755)
    monkeypatch.setenv("PATH", f"{runsc.parent}:{os.environ['PATH']}")
    settings = KafkaSettings(bootstrap=kafka, prefix=f"alerts-{uuid.uuid4().hex[:8]}.")
    asyncio.run(apply(settings, replication=1))
    port, own_port = free_ports(2)
    address = f"127.0.0.1:{port}"

    def metric(name: str) -> float:
        return sum(
            sample.value
            for metric in text_string_to_metric_families(answer(address, "/metrics")[1])
            for sample in metric.samples
            if sample.name == name
        )

    def done(count: int) -> bool:
        return metric("soliloquy_events_succeeded_total") >= count

    with (
        serving("executor", settings, address, tmp_path / "executor.log", ["--sandboxes", "1"]) as executor,
        watching({address: "executor-0"}, own_port, tmp_path, HASTE) as alerts,
    ):
        asyncio.run(publish(settings, range(CALCULATIONS)))
        until(lambda: done(CALCULATIONS), "calculations wait", 120)
        quiet(alerts)
        broken.touch()
        for pid in family([executor], stats()) - {executor}:
            kill(pid)
        broken_at = time.monotonic()
        asyncio.run(publish(settings, range(CALCULATIONS, 2 * CALCULATIONS)))
        fires(alerts, "SoliloquySandboxNotReady", broken_at)
        # Each calculation is tried five times before it is given up.
        until(lambda: metric("soliloquy_dead_letters"), "nothing is given up", 300)
        fires(alerts, "SoliloquyDeadLetters", time.monotonic())
        broken.unlink()
        print(f"SoliloquySandboxNotReady cleared {alerts.clears('SoliloquySandboxNotReady'):.1f} s later")
        until(lambda: _replayed(settings, lambda: done(2 * CALCULATIONS)), "calculations are lost", 300)
        quiet(alerts)


def _replayed(settings: KafkaSettings, done: Callable[[], bool]) -> bool:
    """An event that waits for its last attempt may become a dead letter after the others were replayed."""
    assert said([SOLILOQUY, "dlq", "replay", *reach(settings)]).returncode == 0
    return done()
