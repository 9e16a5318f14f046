"""Checks how `soliloquy show` prints a problem's enrichment."""

import io

from rich.console import Console

from soliloquy.cli.view import show_conversation
from soliloquy.v1.conversation_pb2 import (
    CLAIM_READER_MODEL,
    CLAIM_READER_SPEAKER,
    Conversation,
    Enrichment,
    ModelCall,
)
from tests.unit.recipes.conversations import enriched_conversation, sound_conversation


def shown(conversation: Conversation) -> str:
    conversation.turns[0].calls.append(ModelCall(model="scripted"))
    output = io.StringIO()
    show_conversation(conversation, Console(file=output, width=100))
    return output.getvalue()


def test_the_outline_comes_before_the_conversation() -> None:
    text = shown(enriched_conversation())
    assert text.index("Step 2) Find the work.") < text.index("Student")


def test_why_a_problem_is_not_enriched_is_said() -> None:
    plain = sound_conversation()
    plain.problem.enrichment.CopyFrom(Enrichment(plain_because="soliloquy/enriching: unusable after 3 asks"))
    assert "soliloquy/enriching: unusable after 3 asks" in shown(plain)
    assert "Not enriched" not in shown(sound_conversation())


def test_no_text_of_a_conversation_commands_the_terminal() -> None:
    commands = "\x1b[2J\x1b]0;owned\x07 \x9b31m \u202etxet\u2066"
    hostile = sound_conversation()
    hostile.problem.question += commands
    hostile.problem.source = hostile.turns[0].student.text = hostile.turns[0].tutor.text = commands
    text = shown(hostile)
    assert not set(commands) & set(text) - set("[2J]0;owned 31mtxet")
    assert "\\x1b[2J" in text
    assert "\\u202etxet" in text


def test_what_a_message_claims_stands_below_it_with_what_the_ledger_says() -> None:
    made = sound_conversation()
    said, told = made.turns[0].student, made.turns[0].tutor
    said.claims.add(quantity="W", value=90000, unit="J")
    said.claims_by = CLAIM_READER_MODEL
    told.claims.add(quantity="F", value=3600, unit="N")
    told.claims_by = CLAIM_READER_SPEAKER
    text = shown(made)
    assert "W = 90000 J is wrong (180000 J), as a model reads it" in text
    assert text.index("F = 3600 N is right") > text.index("Tutor")
    assert "is open" not in text
