"""The facts of a problem, and which numbers of a text are among them."""

import functools
from collections.abc import Sequence

from soliloquy.truth.ledger import Ledger, ledger_of
from soliloquy.truth.quantities import WrittenQuantity, is_same, quantities_in
from soliloquy.truth.units import unit
from soliloquy.v1.conversation_pb2 import LedgerEntry, Problem, Quantity


class Facts:
    """The facts of a problem: its results, the values of its symbols, and the results that its question reveals."""

    def __init__(self, problem: Problem) -> None:
        self.problem = problem
        self.ledger: Ledger = ledger_of(problem)
        entries = [(step.number, self.ledger.of_step(step.number)) for step in problem.steps]
        self._settled = {number: entry for number, entry in entries if entry and self.ledger.is_settled(entry)}
        self.tolerance = problem.tolerance or 0.01
        self.results = [(step.number, step.result) for step in problem.steps if step.HasField("result")]
        results = {(result.value, result.unit) for _, result in self.results}
        if problem.HasField("answer") and (problem.answer.value, problem.answer.unit) not in results:
            self.results.append((len(problem.steps), problem.answer))
        derived = {result.symbol for _, result in self.results}
        self.givens = [given for step in problem.steps for given in step.inputs if given.symbol not in derived]
        self.question = quantities_in(problem.question)
        # The results that the question itself reveals.
        self.told = frozenset(self.among(self.question))
        # Each symbol's value in base units, as the laws need it.
        self.values: dict[str, float] = {}
        for quantity in (*self.givens, *(result for _, result in self.results)):
            known = unit(quantity.unit)
            self.values[quantity.symbol] = quantity.value * known.factor + known.offset

    def among(self, written: Sequence[WrittenQuantity]) -> set[int]:
        """Returns the indexes of the results that occur in these quantities."""
        return {place for one in written for place in _places(self, one)}

    def is_given(self, written: WrittenQuantity) -> bool:
        if any(written.value == number.value and _alike(written, number) for number in self.question):
            return True
        return any(matches(written, given, 1e-9) and _has_zero_of(written, given) for given in self.givens)

    def settled_result(self, step: int) -> LedgerEntry | None:
        return self._settled.get(step)


@functools.lru_cache(8192)
def _places(facts: Facts, written: WrittenQuantity) -> Sequence[int]:
    """Cached: the turns of a conversation are read again with each of its answers."""
    results = enumerate(facts.results)
    return tuple(place for place, (_, result) in results if matches(written, result, facts.tolerance))


@functools.lru_cache(256)
def facts_of(problem: bytes) -> Facts:
    """Cached: all conversations about a problem share its facts."""
    return Facts(Problem.FromString(problem))


def matches(written: WrittenQuantity, quantity: Quantity, tolerance: float) -> bool:
    return is_same(written, quantity.value, quantity.unit, tolerance)


def is_weak(written: WrittenQuantity) -> bool:
    """A small bare number is more often a factor, an exponent or a count than a result."""
    return written.digits == 1 and written.unit is None and not written.stated and abs(written.value) < 10


def _alike(written: WrittenQuantity, other: WrittenQuantity) -> bool:
    if written.unit is None or other.unit is None:
        return written.unit is None
    # The same number in another unit of the kind is a forgotten conversion.
    one, another = written.unit, other.unit
    return (one.kind, one.factor, one.offset) == (another.kind, another.factor, another.offset)


def _has_zero_of(written: WrittenQuantity, quantity: Quantity) -> bool:
    """Whether both scales share a zero: 85 K is not the given 85 °C."""
    return written.unit is None or written.unit.offset == unit(quantity.unit).offset
