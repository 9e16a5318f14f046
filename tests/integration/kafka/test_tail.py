"""`soliloquy tail --kafka`: prints each finished conversation once, and resumes where it stopped."""

import asyncio
import json
import time
import uuid

from soliloquy.runtime.events import first_event
from soliloquy.runtime.transports.kafka import KafkaSettings
from soliloquy.runtime.transports.kafka.layout import apply
from soliloquy.runtime.transports.opening import open_transport
from soliloquy.v1.conversation_pb2 import Conversation, Ending
from soliloquy.v1.events_pb2 import ConversationFinished
from soliloquy.v1.runs_pb2 import Run
from tests.e2e.runs import SOLILOQUY, said


async def finish(settings: KafkaSettings, *ids: str) -> None:
    conversations = [Conversation(id=name, run=Run(id="r1"), ending=Ending.ENDING_SOLVED) for name in ids]
    events = [
        first_event(ConversationFinished(conversation=one), source="test", time=time.time()) for one in conversations
    ]
    async with open_transport(settings) as transport:
        await transport.publish(events)


def test_what_finished_is_told_once_and_then_what_finished_since(kafka: str) -> None:
    settings = KafkaSettings(bootstrap=kafka, prefix=f"{uuid.uuid4().hex[:8]}.")
    asyncio.run(apply(settings, replication=1))
    asyncio.run(finish(settings, *(f"c{number}" for number in range(5))))
    tail = [SOLILOQUY, "tail", "--kafka", kafka, "--kafka-prefix", settings.prefix]
    first = [json.loads(line) for line in said([*tail, "--json"]).stdout.splitlines()]
    assert sorted(record["id"] for record in first) == [f"c{number}" for number in range(5)]
    asyncio.run(finish(settings, "c5", "c6"))
    later = [json.loads(line) for line in said([*tail, "--json", "--after", first[-1]["after"]]).stdout.splitlines()]
    assert sorted(record["id"] for record in later) == ["c5", "c6"]
    read = said([*tail, "--after", later[-1]["after"]])
    assert (read.returncode, read.stdout) == (0, "")
    wrong = said([*tail, "--after", "yesterday"])
    assert (wrong.returncode, wrong.stdout) == (2, "")
    assert "invalid place 'yesterday'" in wrong.stderr
