"""The facts of a problem, and which numbers of a text are among them."""

from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property

from soliloquy.truth.ledger import Ledger, ledger_of
from soliloquy.truth.quantities import WrittenQuantity, is_same, quantities_in
from soliloquy.truth.units import unit
from soliloquy.v1.conversation_pb2 import LedgerEntry, Problem, Quantity


class Facts:
    """The facts of a problem, each made at its first use: most turns need few of them."""

    def __init__(self, problem: Problem) -> None:
        self.problem = problem
        self.ledger: Ledger = ledger_of(problem)
        self.tolerance = problem.tolerance or 0.01

    @cached_property
    def results(self) -> Sequence[tuple[int, Quantity]]:
        found = [(step.number, step.result) for step in self.problem.steps if step.HasField("result")]
        answer, values = self.problem.answer, {(result.value, result.unit) for _, result in found}
        if self.problem.HasField("answer") and (answer.value, answer.unit) not in values:
            found.append((len(self.problem.steps), answer))
        return found

    @cached_property
    def givens(self) -> Sequence[Quantity]:
        derived = {result.symbol for _, result in self.results}
        return [given for step in self.problem.steps for given in step.inputs if given.symbol not in derived]

    @cached_property
    def question(self) -> Sequence[WrittenQuantity]:
        return quantities_in(self.problem.question)

    @cached_property
    def values(self) -> Mapping[str, float]:
        """Returns each symbol's value in base units, as the laws need it."""
        known = (*self.givens, *(result for _, result in self.results))
        return {quantity.symbol: unit(quantity.unit).in_base(quantity.value) for quantity in known}

    def among(self, written: Iterable[WrittenQuantity]) -> set[int]:
        """Returns the indexes of the results that occur in these quantities."""
        results = [*enumerate(self.results)]
        return {place for one in written for place, (_, own) in results if matches(one, own, self.tolerance)}

    def is_given(self, written: WrittenQuantity) -> bool:
        if any(written.value == number.value and _alike(written, number) for number in self.question):
            return True
        return any(matches(written, given, 1e-9) and _has_zero_of(written, given) for given in self.givens)

    def settled_result(self, step: int) -> LedgerEntry | None:
        entry = self.ledger.of_step(step)
        return entry if entry is not None and self.ledger.is_settled(entry) else None


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
