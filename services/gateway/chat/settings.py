"""What an operator may set for the chats."""

from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True, slots=True)
class ChatSettings:
    # Open at once, over everybody.
    most_chats: int = 256
    # After which one that nobody says anything in is forgotten.
    idle_seconds: float = 1_800.0
    most_turns: int = 50
    # Of a person's message and of its problem; of a solution that comes with it.
    most_characters: int = 4_000
    most_solution_characters: int = 8_000
    # For the tutor's whole answer, with all that it calculates.
    answer_seconds: float = 120.0
