"""A person's message as the scripted tutor takes it."""

from dataclasses import dataclass
from enum import Enum, auto

from soliloquy.recipes.soliloquy.scripted.person.equations import Equation
from soliloquy.v1.conversation_pb2 import Step


class Act(Enum):
    # A number for a step: the calculation decides whether it is right.
    NUMBER = auto()
    # The result of an earlier step, once more.
    KNOWN = auto()
    # An equation that the step asks for, or that says how to go about it: a calculation decides too.
    EQUATION = auto()
    PART = auto()
    # An equation that holds, and that nobody asked for.
    ELSEWHERE = auto()
    # A sentence that the bank has as right or wrong.
    RIGHT = auto()
    WRONG = auto()
    HINT = auto()
    CONCEPT = auto()
    SOLUTION = auto()
    BACK = auto()
    GREETING = auto()
    THANKS = auto()
    OFF_TOPIC = auto()
    UNREADABLE = auto()


@dataclass(frozen=True, kw_only=True, slots=True)
class PersonMessage:
    act: Act
    text: str
    # The step that it is about, which may lie ahead.
    step: Step
    # The number in the unit of the step.
    value: float | None = None
    equation: Equation | None = None
    # For an unreadable message: the wording in phrases/person.toml that asks for what is missing.
    lacks: str = ""
