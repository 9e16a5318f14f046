"""The settings of the chats."""

from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True, slots=True)
class ChatSettings:
    # Open at once, of all callers.
    most_chats: int = 256
    # How long a chat without messages is remembered.
    idle_seconds: float = 1_800.0
    most_turns: int = 50
    # In a person's message or problem, and in a solution.
    most_characters: int = 4_000
    most_solution_characters: int = 8_000
    # For the tutor's whole answer, calculations included.
    answer_seconds: float = 120.0
