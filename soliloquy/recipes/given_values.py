"""Compares the values that a program begins with with those of its description, the problem and the conversation."""

import ast
from collections.abc import Iterator, Sequence

from soliloquy.recipes.manners import Findings
from soliloquy.truth.arithmetic_policy import COUNTS
from soliloquy.truth.known_numbers import KnownNumbers
from soliloquy.truth.measured_values import stated_value
from soliloquy.truth.numbers import numbers_in
from soliloquy.v1.conversation_pb2 import Conversation, Turn


def check_given_values(conversation: Conversation, turns: Sequence[Turn]) -> Findings:
    """Finds values that nobody gave; constants that have a role in the problem are everybody's."""
    for turn in turns:
        description = turn.calculation.description
        if not turn.calculation.attempts or not description:
            continue
        described = {number.value for number in numbers_in(description)}
        others = [(name, value) for name, value in _given(turn.calculation.attempts[-1].code) if value not in described]
        known = KnownNumbers(_told(conversation, turn), turn.calculation.attempts[-1].code) if others else None
        for name, value in others:
            if known and value not in COUNTS and not known.sources(stated_value(value)):
                yield turn.number, f"the program takes {name} = {value:g}, which nobody gave"


def _told(conversation: Conversation, turn: Turn) -> str:
    problem = conversation.problem
    said = [one.student.text for one in conversation.turns[: turn.number]]
    return "\n".join([turn.calculation.description, problem.question, problem.solution, *said])


def _given(code: str) -> Iterator[tuple[str, float]]:
    """Yields the names that are set to a number."""
    try:
        statements = ast.parse(code).body
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return
    for statement in statements:
        match statement:
            case ast.Assign(targets=[ast.Name(id=name)], value=ast.Constant(value=int() | float() as value)):
                if not isinstance(value, bool):
                    yield name, float(value)
