"""Puts unreadable records on every topic: each becomes a dead letter that says why."""

import asyncio
from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from aiokafka import AIOKafkaProducer

from soliloquy.runtime.events import MAX_EVENT_BYTES
from soliloquy.runtime.reading import letters
from soliloquy.runtime.topics import RETRY, TOPICS, origin
from soliloquy.runtime.transports.kafka import KafkaSettings
from soliloquy.runtime.transports.kafka.transport import KafkaTransport
from tests.chaos.kafka.conftest import Undisturbed
from tests.chaos.kafka.installation import Installation, until
from tests.chaos.kafka.run import Run
from tests.e2e.runs import dataset

CONVERSATIONS = 100
IN_FLIGHT = 32
LETTER_SECONDS = 60.0
TABLES = [topic.name for topic in TOPICS.values() if topic.keep == "latest"]
READ = [name + suffix for name in TOPICS if name not in TABLES for suffix in ("", RETRY)]


@dataclass(frozen=True, kw_only=True, slots=True)
class Poison:
    # Part of the error that the dead letter holds.
    reason: str
    value: bytes | None
    key: bytes | None = b"somebody"
    headers: Mapping[str, bytes] = field(default_factory=dict)


def poisons(topic: str) -> list[Poison]:
    message = TOPICS[origin(topic)].message.DESCRIPTOR.full_name

    def headers(kind: str) -> dict[str, bytes]:
        names = {"ce_id": f"{topic}-{kind}", "ce_source": "somebody", "ce_time": "2030-01-01T00:00:00+00:00"}
        return {"ce_type": message.encode(), **{name: value.encode() for name, value in names.items()}}

    later = message.replace(".v1.", ".v2.").encode()
    return [
        Poison(reason="no ce_type", value=b"\xff\x00garbage"),
        Poison(reason="no payload", value=None, headers=headers("empty")),
        Poison(reason="no text", value=b"", headers={"ce_type": b"\xff\xfe"}),
        Poison(reason="com.example.Order", value=b"{}", headers={"ce_type": b"com.example.Order"}),
        Poison(reason="not those of an event", value=b"", headers={"ce_type": message.encode()}),
        Poison(reason="no valid message", value=b"\xff\xff", headers=headers("garbage")),
        Poison(reason="later one", value=b"", headers={**headers("later"), "ce_type": later}),
        # A compacted topic takes no record without a key.
        *([] if topic in TABLES else [Poison(reason="no key", value=b"", key=None, headers=headers("keyless"))]),
        Poison(reason="above the limit", value=b"x" * (MAX_EVENT_BYTES + 1), headers=headers("large")),
    ]


@pytest.mark.timeout(600)
def test_poison_on_every_topic_becomes_letters_and_costs_no_conversation(
    kafka: str, undisturbed: Undisturbed, tmp_path: Path
) -> None:
    with (
        Installation(tmp_path, kafka) as installation,
        Run(installation, tmp_path / "out", conversations=CONVERSATIONS, in_flight=IN_FLIGHT) as run,
    ):
        run.reach(1)
        asyncio.run(_poison(installation.settings, [*READ, *TABLES]))
        expected = {name: 2 * len(poisons(name)) for name in TOPICS if name not in TABLES}
        found: dict[str, list[str]] = {}

        def all_found() -> bool:
            found.update(asyncio.run(_errors(installation.settings)))
            return {name: len(errors) for name, errors in found.items()} == expected

        until(all_found, "not every poison is a dead letter", LETTER_SECONDS)
        run.finish()
        assert dataset(run.out) == undisturbed(CONVERSATIONS)
        # A starting process meets the poison that followed and compacted topics keep.
        installation.kill("curriculum-0")
        installation.kill("student-0")
        installation.wait_until_ready()
        said = installation.said.splitlines()
    for name, errors in found.items():
        for poison in poisons(name):
            assert sum(poison.reason in error for error in errors) >= 2, (name, poison.reason, errors)
    assert sum("restarting" in line for line in said) == 2, said
    print(f"\n{sum(expected.values())} foreign records on {len(READ)} topics are dead letters, each with its reason")


async def _poison(settings: KafkaSettings, topics: list[str]) -> None:
    producer = AIOKafkaProducer(bootstrap_servers=settings.bootstrap)
    await producer.start()
    try:
        for topic in topics:
            for poison in poisons(topic):
                await producer.send_and_wait(
                    settings.prefix + topic, poison.value, key=poison.key, headers=list(poison.headers.items())
                )
    finally:
        await producer.stop()


async def _errors(settings: KafkaSettings) -> dict[str, list[str]]:
    """Counts the dead letters of each topic."""
    found: defaultdict[str, list[str]] = defaultdict(list)
    async with KafkaTransport(settings) as transport:
        async for letter in letters(transport):
            found[origin(letter.event.topic)].append(letter.event.error)
    return found
