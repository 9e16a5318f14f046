"""A check that rejects conversations whose tutor praises instead of saying what was right."""

from collections.abc import Iterator

from soliloquy.v1.conversation_pb2 import Conversation


def check(conversation: Conversation) -> Iterator[tuple[int, str]]:
    for turn in conversation.turns:
        if "Well done" in turn.tutor.text:
            yield turn.number, "the tutor says 'Well done'"
