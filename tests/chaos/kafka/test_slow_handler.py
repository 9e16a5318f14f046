"""Runs a handler that exceeds every timeout of its group: it keeps its partitions and runs once."""

import asyncio
from collections import Counter
from dataclasses import replace

from soliloquy.runtime.events import Outcome
from soliloquy.runtime.transports.kafka.transport import KafkaTransport
from soliloquy.v1.events_pb2 import ConversationStarted
from tests.integration.transport.kafka import fresh_address, settings
from tests.integration.transport.support import held, idle, metric, reply, serving, started, student
from tests.waiting import until

KEYS = 16
SESSION_SECONDS = 2.0
POLL_SECONDS = 3.0
HANDLER_SECONDS = 4 * POLL_SECONDS


async def test_a_handler_slower_than_the_poll_interval_runs_once_and_keeps_its_partition(kafka: str) -> None:
    runs: Counter[str] = Counter()

    async def work(message: ConversationStarted) -> Outcome:
        runs[message.conversation.id] += 1
        await asyncio.sleep(HANDLER_SECONDS)
        return await reply(message)

    address = await fresh_address(kafka)
    impatient = replace(settings(address), session_seconds=SESSION_SECONDS, poll_seconds=POLL_SECONDS)
    fenced = metric("soliloquy_events_fenced_total")
    async with KafkaTransport(impatient) as transport:
        async with serving(student(work, max_in_flight=KEYS), transport), serving(student(work), transport):
            await until(lambda: idle(transport))
            await transport.publish([started(f"c{key}") for key in range(KEYS)])
            await until(lambda: idle(transport), seconds=5 * HANDLER_SECONDS)
        assert len(await held(transport, "student.replied")) == KEYS
    assert runs == dict.fromkeys((f"c{key}" for key in range(KEYS)), 1)
    assert metric("soliloquy_events_fenced_total") == fenced
    print(f"\n{KEYS} handlers of {HANDLER_SECONDS:g} s ran once each with a poll interval of {POLL_SECONDS:g} s")
