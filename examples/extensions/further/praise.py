"""A check that rejects conversations whose tutor praises instead of saying what was right."""

from collections.abc import Iterator

from soliloquy.v1.conversation_pb2 import Conversation

_PRAISE = ("Well done", "Great work", "Lovely")


def check(conversation: Conversation) -> Iterator[tuple[int, str]]:
    for turn in conversation.turns:
        if praise := next((words for words in _PRAISE if words in turn.tutor.text), ""):
            yield turn.number, f"the tutor says {praise!r}"
