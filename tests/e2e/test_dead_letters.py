"""An event that cannot be handled is set aside, explained, and goes on once it is put back."""

import asyncio
import json
import sqlite3
import time
from contextlib import closing
from pathlib import Path

import pytest

from soliloquy.runtime.events import Event
from soliloquy.runtime.transports.embedded import EmbeddedTransport
from soliloquy.v1.events_pb2 import ProblemSubmitted
from soliloquy.v1.runs_pb2 import Run
from tests.e2e.runs import SOLILOQUY, command, dataset, grown, said


def publish(log: Path, event: Event) -> None:
    async def go() -> None:
        async with EmbeddedTransport(log) as transport:
            await transport.publish([event])

    asyncio.run(go())


@pytest.fixture
def given_up(tmp_path: Path) -> Path:
    """A run's folder with a dead letter that is sound by itself."""
    (tmp_path / ".run").mkdir()
    letter = Event(
        id="letter",
        topic="problem.submitted.dlq",
        key="run",
        payload=ProblemSubmitted(run=Run(id="r1"), ordinal=41).SerializeToString(),
        source="test",
        time=time.time(),
        attempt=5,
        error="OSError: no route to the model",
    )
    publish(tmp_path / ".run" / "log.sqlite", letter)
    return tmp_path


def test_a_dead_letter_is_listed_and_shown_with_its_error(given_up: Path) -> None:
    for arguments in (["list", str(given_up)], ["show", str(given_up), "letter"]):
        assert "no route to the model" in said([SOLILOQUY, "dlq", *arguments]).stdout
    assert "ordinal: 41" in said([SOLILOQUY, "dlq", "show", str(given_up), "letter"]).stdout
    assert "'another'" in said([SOLILOQUY, "dlq", "replay", str(given_up), "another"]).stderr


def test_a_replayed_letter_is_back_on_its_topic_and_out_of_the_dead_ones(given_up: Path) -> None:
    assert "1 put back" in said([SOLILOQUY, "dlq", "replay", str(given_up), "letter"]).stdout
    assert said([SOLILOQUY, "dlq", "list", str(given_up)]).stdout == "no dead letters\n"

    async def submitted() -> list[str]:
        async with EmbeddedTransport(given_up / ".run" / "log.sqlite") as transport:
            return [delivery.event.id async for delivery in transport.read("problem.submitted")]

    assert asyncio.run(submitted()) == ["letter"]


UNREAD = """
    SELECT offset, payload FROM event JOIN position USING (topic, partition)
    WHERE topic IN ('student.replied', 'reply.needed', 'code.written', 'tutor.replied', 'calculation.needed',
                    'conversation.finished')
      AND offset > watermark AND offset NOT IN (SELECT offset FROM ahead)
    ORDER BY offset DESC LIMIT 1
"""


def test_a_conversation_among_the_dead_letters_is_finished_once_mended_and_replayed(
    unfinished: Path, reference: Path
) -> None:
    log = unfinished / ".run" / "log.sqlite"
    with closing(sqlite3.connect(log)) as connection, connection:
        offset, payload = connection.execute(UNREAD).fetchone()
        connection.execute("UPDATE event SET payload = x'ff' WHERE offset = ?", (offset,))
    stopped = said(command(unfinished, conversations=8))
    assert stopped.returncode == 1
    assert json.loads(stopped.stdout)["failed"] == 1
    assert "1 conversations ended among the dead letters" in stopped.stderr
    with closing(sqlite3.connect(log)) as connection, connection:
        connection.execute("UPDATE event SET payload = ? WHERE topic LIKE '%.dlq'", (payload,))
    assert said([SOLILOQUY, "dlq", "replay", str(unfinished)]).returncode == 0
    assert grown(unfinished, conversations=8)["accepted"] == 8
    assert dataset(unfinished) == dataset(reference)
