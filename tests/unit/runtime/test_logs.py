"""A log line names its subject, in a format for its reader, and contains no dialogue."""

import json
import logging
from pathlib import Path
from typing import Any

import pytest

from soliloquy.runtime.events import Outcome
from soliloquy.runtime.logs import JSON, TEXT, relay, set_up
from soliloquy.runtime.retry import Refused
from soliloquy.runtime.transports.embedded import EmbeddedTransport
from soliloquy.v1 import events_pb2
from tests.integration.transport.support import idle, serving, student, undecodable
from tests.traces.trees import trace_of
from tests.unit.runtime.traces.growing import conversation_id, start, submitted
from tests.waiting import until

WORDS = "the words of a student"
_log = logging.getLogger("soliloquy_services.test")


def entries(capsys: pytest.CaptureFixture[str]) -> list[dict[str, Any]]:
    return [json.loads(line) for line in capsys.readouterr().err.splitlines()]


async def test_an_event_that_fails_is_logged_with_its_run_conversation_and_trace_and_without_a_word_of_it(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    set_up("worker", JSON)
    faults = [ValueError(WORDS), Refused(WORDS)]

    async def failing(_: events_pb2.ConversationStarted) -> Outcome:
        raise faults.pop(0)

    from soliloquy.runtime.events import first_event, message_of

    problem = message_of(submitted(0))
    assert isinstance(problem, events_pb2.ProblemSubmitted)
    [begun] = await start(problem)
    async with EmbeddedTransport(tmp_path / "log") as transport, serving(student(failing), transport):
        await transport.publish([first_event(begun, source="test", time=1.0)])
        await until(lambda: not faults)
        await transport.publish([undecodable("nobody")])
        await until(lambda: idle(transport))
    again, dead, broken = entries(capsys)
    subject = {"run": "r1", "conversation": conversation_id(0), "trace": trace_of(conversation_id(0))}
    for entry, level, error in ((again, "warning", "ValueError"), (dead, "error", "Refused")):
        assert entry["level"] == level
        assert entry["service"] == "student"
        assert {name: entry[name] for name in subject} == subject
        assert (entry["fields"]["topic"], entry["fields"]["error"]) == ("conversation.started", error)
    assert (broken["fields"]["error"], "run" in broken) == ("Undecodable", False)
    assert WORDS not in json.dumps([again, dead, broken])


def test_an_error_of_ours_says_where_it_was_and_not_what_it_quotes(capsys: pytest.CaptureFixture[str]) -> None:
    set_up("executor", JSON)
    try:
        raise KeyError(WORDS)
    except KeyError:
        _log.exception("a call failed")
    [entry] = entries(capsys)
    assert (entry["message"], entry["fields"]["error"]) == ("a call failed", "KeyError")
    assert __file__ in entry["fields"]["at"][0]
    assert WORDS not in json.dumps(entry)


def test_a_person_reads_a_line_and_a_program_an_object(capsys: pytest.CaptureFixture[str]) -> None:
    for style in (TEXT, None):
        set_up("student", style)
        _log.warning("it is late", extra={"fields": {"seconds": 3}})
        _log.debug("nobody wants to know")
        logging.getLogger("library").info("nor this")
        logging.getLogger("library").warning("but this")
    line, of_library, *objects = capsys.readouterr().err.splitlines()
    assert line.endswith(" WARNING student: it is late seconds=3")
    assert of_library.endswith(" WARNING student: but this logger=library")
    assert [json.loads(each)["message"] for each in objects] == ["it is late", "but this"]


def test_what_a_worker_logs_is_written_as_its_keeper_writes(capsys: pytest.CaptureFixture[str]) -> None:
    set_up("tutor", JSON)
    _log.info("is up", extra={"fields": {"seconds": 3}})
    _log.warning("is late")
    up, late = (line.encode() for line in capsys.readouterr().err.splitlines())
    set_up("up", TEXT)
    assert relay(up)
    assert not relay(b"Traceback (most recent call last):")
    assert not relay(b'{"some": "JSON"}')
    assert not relay(b"[1]")
    assert capsys.readouterr().err.endswith(" tutor: is up seconds=3\n")
    set_up("generate", TEXT, logging.WARNING)
    assert relay(up)
    assert relay(late)
    [line] = capsys.readouterr().err.splitlines()
    assert line.endswith(" WARNING tutor: is late")


def test_a_library_that_logs_each_attempt_has_a_line_a_minute_for_each_cause_that_counts_those_left_out(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    set_up("student", JSON)
    library, clock = logging.getLogger("library.of.others"), [0.0]
    monkeypatch.setattr("soliloquy.runtime.logs.time.monotonic", lambda: clock[0])

    def attempt() -> None:
        library.error("Failed fetch messages from %s: %s", 1, clock[0])
        library.warning("Topic %s is not available", clock[0])
        _log.warning("ours is never left out")

    for second in range(0, 90, 3):
        clock[0] = float(second)
        attempt()
    told = [(entry["message"], entry.get("fields", {}).get("left_out")) for entry in entries(capsys)]
    assert [each for each in told if each[0] != "ours is never left out"] == [
        ("Failed fetch messages from 1: 0.0", None),
        ("Topic 0.0 is not available", None),
        ("Failed fetch messages from 1: 60.0", 19),
        ("Topic 60.0 is not available", 19),
    ]
    assert len(told) - 4 == 30
