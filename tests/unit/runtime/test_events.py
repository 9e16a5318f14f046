"""An event names its run by a name that is no path, and passes on who touched its conversation."""

from dataclasses import replace

import pytest

from soliloquy.runtime.events import Undecodable, caused_events, first_event, message_of
from soliloquy.runtime.lineage import short_digest
from soliloquy.v1.events_pb2 import (
    ConversationCollected,
    ConversationFinished,
    ConversationStarted,
    RunChanged,
    ServiceDescribed,
)
from soliloquy.v1.runs_pb2 import Run

ELSEWHERE = ["..", "../../x", "/etc/passwd", ".run", "a/b", "a\\b", "a\0b", "a b", "a\nb", "\x1b[2J", "é", "x" * 201]


@pytest.mark.parametrize("name", ["", *ELSEWHERE])
@pytest.mark.parametrize("field", ["id", "growing"])
def test_a_run_without_a_name_or_named_like_another_place_is_not_read(name: str, field: str) -> None:
    run = Run(id=name) if field == "id" else Run(growing=name)
    for message in (ConversationFinished(), RunChanged()):
        (message.conversation.run if isinstance(message, ConversationFinished) else message.run).CopyFrom(run)
        with pytest.raises(Undecodable, match="has no valid run id"):
            message_of(first_event(message, source="somebody", time=1.0))


@pytest.mark.parametrize("name", ["84a139b8d77a3def660e43f6", "people", "soliloquy-1a2b", "first.try_2:a"])
def test_the_names_that_runs_have_are_read(name: str) -> None:
    message = RunChanged(run=Run(id=name, growing="2030"))
    assert message_of(first_event(message, source="somebody", time=1.0)) == message


def test_another_attempt_is_touched_by_who_enriched_its_problem_in_the_first() -> None:
    planner, collector, curriculum = (short_digest(name) for name in (b"planner", b"collector", b"curriculum"))
    finished = ConversationFinished()
    finished.conversation.run.id = "r1"
    told = replace(first_event(finished, source="student", time=1.0), lineage=planner)
    [collected] = caused_events(told, [ConversationCollected()], source="collector", time=2.0, service=collector)
    [again] = caused_events(collected, [ConversationStarted()], source="curriculum", time=3.0, service=curriculum)
    assert again.lineage.split() == [planner, collector, curriculum]


def test_a_description_that_is_not_keyed_by_its_digest_is_not_read() -> None:
    told = first_event(ServiceDescribed(service="tutor"), source="tutor", time=1.0)
    assert message_of(told) == ServiceDescribed(service="tutor")
    with pytest.raises(Undecodable, match="is not keyed by its digest"):
        message_of(replace(told, key=short_digest(b"another")))
