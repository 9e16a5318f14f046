"""Looks for the source of each number that a program begins with, or that a reply tells."""

import ast
from collections.abc import Callable, Collection, Iterator, Sequence
from itertools import permutations

from soliloquy.recipes.manners import Findings
from soliloquy.runtime.values import shown
from soliloquy.truth.arithmetic_policy import COUNTS
from soliloquy.truth.calculations import results_in
from soliloquy.truth.judge import compare
from soliloquy.truth.known_numbers import KnownNumbers
from soliloquy.truth.ledger import ledger_of
from soliloquy.truth.measured_values import stated_value
from soliloquy.truth.numbers import numbers_in
from soliloquy.truth.quantities import WrittenQuantity, quantities_in, values_in
from soliloquy.v1.conversation_pb2 import Conversation, Turn

_PREFIXES = (1e-6, 1e-3, 1e-2, 1e2, 1e3, 1e6)
# The work that a student has handed in before the first turn.
HandedIn = Callable[[Conversation], str]


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


def check_unfounded(conversation: Conversation, turns: Sequence[Turn], handed_in: HandedIn) -> Findings:
    """Finds numbers in replies that no problem, message, program or written calculation gives."""
    for turn in turns:
        told = [one for one in quantities_in(turn.tutor.text) if one.value not in COUNTS]
        if told and (one := next(_without_source(told, conversation, turn, handed_in(conversation)), None)):
            yield turn.number, f"nothing gives {one.value:g}"


def _without_source(
    told: Sequence[WrittenQuantity], conversation: Conversation, turn: Turn, handed_in: str
) -> Iterator[WrittenQuantity]:
    problem, texts = conversation.problem, [handed_in, *_given_before(conversation, turn)]
    entries = ledger_of(problem).entries
    left = [one for one in told if all(compare(one, entry) is False for entry in entries)]
    given = [one for text in texts for one in quantities_in(text)] if left else []
    left = [one for one in left if not any(_is_same(one, other) for other in given)]
    if not left:
        return
    known = KnownNumbers("\n".join(texts), problem.solution)
    made = [*results_in(turn.tutor.text), *_times(values_in(problem.question))]
    for one in left:
        is_made = any(abs(one.value - value) <= one.half for value in made)
        if not (is_made or known.sources(stated_value(one.value)) or known.derives(one.value)):
            yield one


def _is_same(one: WrittenQuantity, other: WrittenQuantity) -> bool:
    """Whether both are the same number, or the same quantity in two units, as exactly as the first is written."""
    if abs(one.value - other.value) <= one.half:
        return True
    if one.unit is not None and other.unit is None:
        # Programs name no units: what they have in g may be told in kg.
        return any(abs(one.value - other.value * prefix) <= one.half for prefix in _PREFIXES)
    if one.unit is None or other.unit is None or one.unit.kind != other.unit.kind:
        return False
    return abs(one.unit.in_base(one.value) - other.unit.in_base(other.value)) <= one.half * one.unit.factor


def _times(values: Collection[float]) -> Iterator[float]:
    """Yields how many times one value is another, where it is so in whole."""
    yield from (one / other for one, other in permutations(values, 2) if other and (one / other).is_integer())


def _given_before(conversation: Conversation, turn: Turn) -> Iterator[str]:
    problem = conversation.problem
    yield from (problem.question, problem.solution, problem.enrichment.detailed_solution)
    for one in conversation.turns[: turn.number]:
        yield one.student.text
        for attempt in (*one.calculation.attempts, *one.calculation.opinions):
            yield attempt.code
            yield from (shown(named.value) for named in attempt.execution.values)
        if one.number < turn.number:
            yield one.tutor.text
