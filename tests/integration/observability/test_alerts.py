"""Checks that a real Prometheus reports a dead service, and a dead letter, until both are fixed."""

import asyncio
import time
import uuid
from contextlib import ExitStack
from pathlib import Path

import pytest

from soliloquy.problems.sources import problem_source
from soliloquy.runtime.events import first_event
from soliloquy.runtime.retry import dead
from soliloquy.runtime.transports.kafka import KafkaSettings
from soliloquy.runtime.transports.kafka.layout import apply
from soliloquy.runtime.transports.opening import open_transport
from soliloquy.v1.events_pb2 import ConversationStarted
from soliloquy.v1.runs_pb2 import Run
from soliloquy_services.curriculum.handler import attempt_at
from tests.chaos.kafka.installation import free_ports
from tests.e2e.runs import SOLILOQUY, said
from tests.observability.alerting import watching
from tests.observability.serving import reach, serving

pytestmark = pytest.mark.thorough

# An hour of the rules passes in a minute.
HASTE = 60


async def bury(settings: KafkaSettings) -> None:
    """Gives up an event that could be handled."""
    run = Run(id="buried", recipe="soliloquy", in_flight=1, max_turns=2, max_attempts=1)
    conversation = attempt_at(problem_source("physics").problem(0, 0), run=run, ordinal=0, attempt=0)
    event = first_event(ConversationStarted(conversation=conversation), source="test", time=time.time())
    async with open_transport(settings) as transport:
        await transport.publish([dead(event, RuntimeError("nobody was there"))])


def test_a_dead_letter_and_a_killed_service_are_told_until_they_are_mended(kafka: str, tmp_path: Path) -> None:
    settings = KafkaSettings(bootstrap=kafka, prefix=f"alerts-{uuid.uuid4().hex[:8]}.")
    asyncio.run(apply(settings, replication=1))
    port, own_port = free_ports(2)
    address, log = f"127.0.0.1:{port}", tmp_path / "student.log"
    with ExitStack() as running:
        running.enter_context(serving("student", settings, address, log))
        with watching({address: "student-0"}, own_port, tmp_path, HASTE) as alerts:
            assert alerts.firing() == {}
            asyncio.run(bury(settings))
            letter = alerts.fires("SoliloquyDeadLetters")
            assert letter["annotations"]["summary"] == "student has given up 1 of conversation.started"
            assert said([SOLILOQUY, "dlq", "replay", *reach(settings)]).returncode == 0
            alerts.clears("SoliloquyDeadLetters")
            assert alerts.firing() == {}
            running.close()
            down = alerts.fires("SoliloquyTargetDown")
            assert down["annotations"]["summary"] == f"student-0 ({address}) does not answer"
            with serving("student", settings, address, log):
                alerts.clears("SoliloquyTargetDown")
                # On a busy machine it is away, and then not ready, for longer than the windows of so fast a clock.
                alerts.clears("SoliloquyServiceNotReady")
                assert alerts.firing() == {}
