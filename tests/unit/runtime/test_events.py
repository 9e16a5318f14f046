"""An event names its run by a name that is no path."""

import pytest

from soliloquy.runtime.events import Undecodable, first_event, message_of
from soliloquy.v1.events_pb2 import ConversationFinished, RunChanged
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
