"""Tells what a simulated student had to learn in a conversation, and whether it did."""

from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True, slots=True)
class LearningGoal:
    """Something that a student had to come to: the result of a step, the answer to a question."""

    name: str
    # Whether it would have come to it without the tutor; None if the conversation never reached it.
    knew: bool | None
    # Whether it would after the last message.
    knows: bool
    # Whether it gave the right answer by itself, and whether the tutor told the answer before.
    answered: bool
    told: bool
