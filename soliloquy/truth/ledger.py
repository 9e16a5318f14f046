"""Makes a problem's ledger: every quantity that a conversation may be about, and how its value is known."""

from collections.abc import Iterator, Sequence
from functools import cached_property, lru_cache

from soliloquy.programs.operations import calculates
from soliloquy.truth.exactness import is_right
from soliloquy.truth.locales import glossed
from soliloquy.truth.measured_values import is_rounded
from soliloquy.truth.number_format import format_number
from soliloquy.truth.sources import provenance_of
from soliloquy.v1 import conversation_pb2 as pb
from soliloquy.v1.conversation_pb2 import Evidence, LedgerEntry, Problem
from soliloquy.v1.conversation_pb2 import Ledger as LedgerRecord

# An answer is right within one percent.
_TOLERANCE = 0.01


class Ledger:
    """The entries of a ledger, and which of their values are settled."""

    def __init__(self, record: LedgerRecord) -> None:
        self.entries: Sequence[LedgerEntry] = [*record.entries]

    @cached_property
    def results(self) -> Sequence[LedgerEntry]:
        return [entry for entry in self.entries if entry.role != pb.LEDGER_ROLE_GIVEN]

    @cached_property
    def answer(self) -> LedgerEntry | None:
        return next((entry for entry in self.entries if entry.role == pb.LEDGER_ROLE_ANSWER), None)

    @cached_property
    def is_disputed(self) -> bool:
        """Whether programs came to another answer. Which step leads there is unknown, so no result is settled."""
        return self.answer is not None and not _agree(self.answer)

    @cached_property
    def has_settled_answer(self) -> bool:
        return self.answer is not None and self.is_settled(self.answer)

    def entry(self, symbol: str) -> LedgerEntry | None:
        return next((entry for entry in reversed(self.entries) if entry.quantity.symbol == symbol), None)

    def of_step(self, number: int) -> LedgerEntry | None:
        return next((entry for entry in self.results if entry.step == number), None)

    def is_settled(self, entry: LedgerEntry) -> bool:
        kinds = {evidence.kind for evidence in entry.evidence}
        enough = pb.EVIDENCE_KIND_BANK in kinds or len(kinds) > 1
        return enough and not self.is_disputed and _agree(entry)


@lru_cache(512)
def _made(serialised: bytes) -> LedgerRecord:
    return make_ledger(Problem.FromString(serialised))


def ledger_of(problem: Problem) -> Ledger:
    """Returns the recorded ledger, or one made of the problem's steps."""
    return Ledger(
        problem.ledger if problem.HasField("ledger") else _made(problem.SerializeToString(deterministic=True))
    )


def make_ledger(problem: Problem, programs: Evidence | None = None) -> LedgerRecord:
    """Makes the ledger of a problem, with what its independent programs came to."""
    record = LedgerRecord()
    is_bank = problem.plan == pb.PLAN_SOURCE_BANK
    made = pb.EVIDENCE_KIND_BANK if is_bank else pb.EVIDENCE_KIND_STATED
    tolerance = problem.tolerance or _TOLERANCE
    given = {own.symbol: own for step in problem.steps for own in step.inputs}
    results = {step.result.symbol for step in problem.steps if step.HasField("result")}
    taken = given.keys() - results
    for symbol, quantity in given.items():
        if symbol in taken:
            evidence = [Evidence(kind=made, value=quantity.value)]
            record.entries.add(quantity=quantity, role=pb.LEDGER_ROLE_GIVEN, tolerance=tolerance, evidence=evidence)
    calculated = frozenset() if is_bank else _calculated(problem)
    answer = _answer_step(problem)
    for step in _yielding_steps(problem, answer):
        entry = record.entries.add(
            quantity=step.result,
            role=pb.LEDGER_ROLE_ANSWER if step.number == answer else pb.LEDGER_ROLE_RESULT,
            step=step.number,
            tolerance=tolerance,
            formula=step.formula,
            evidence=[Evidence(kind=made, value=step.result.value)],
        )
        if step.result.symbol in taken:
            # A solution in prose may use a letter twice.
            entry.quantity.symbol = f"{step.result.symbol}{step.number}"
        taken.add(entry.quantity.symbol)
        if step.number in calculated:
            entry.evidence.add(kind=pb.EVIDENCE_KIND_CALCULATED, value=step.result.value)
        if programs is not None and entry.role == pb.LEDGER_ROLE_ANSWER:
            entry.evidence.append(programs)
        elif programs is not None and problem.plan == pb.PLAN_SOURCE_PROGRAM:
            # The programs that agree on the answer came to it by these steps.
            entry.evidence[0].kind = pb.EVIDENCE_KIND_PROGRAMS
    return record


def programs_in(record: LedgerRecord) -> Evidence | None:
    """Returns what the independent programs came to; None if there were none, or no majority."""
    answers = (one for one in record.entries if one.role == pb.LEDGER_ROLE_ANSWER)
    found = (one for answer in answers for one in answer.evidence if one.kind == pb.EVIDENCE_KIND_PROGRAMS)
    return next(found, None)


def is_worked_out(problem: Problem) -> bool:
    """Whether the solution alone, without any programs, settles the answer."""
    return Ledger(make_ledger(problem)).has_settled_answer


def doubt_about(problem: Problem) -> str:
    """Returns why the answer of a problem is open; empty if it is settled."""
    ledger = ledger_of(problem)
    if ledger.has_settled_answer:
        return ""
    if ledger.is_disputed:
        return "independent programs come to another answer"
    answer = f"the answer {format_number(problem.answer.value)}" if problem.HasField("answer") else "an answer"
    found = provenance_of(glossed(problem))
    # The only number of a solution without a calculation is the answer.
    is_bare = found.numbers <= 1 and not found.faults
    return (not is_bare and found.doubt) or f"no calculation of the solution gives {answer}"


def _answer_step(problem: Problem) -> int:
    """Returns the number of the last step that yields the answer, or of one behind them; 0 without an answer."""
    if not problem.HasField("answer"):
        return 0
    wanted = (problem.answer.value, problem.answer.unit)
    found = (step.number for step in problem.steps if (step.result.value, step.result.unit) == wanted)
    return max(found, default=len(problem.steps) + 1)


def _yielding_steps(problem: Problem, answer: int) -> Iterator[pb.Step]:
    yield from (step for step in problem.steps if step.HasField("result"))
    if answer > len(problem.steps):
        yield pb.Step(number=answer, result=problem.answer)


def _calculated(problem: Problem) -> frozenset[int]:
    """Returns the steps whose result is calculated by a solution that was read completely."""
    steps = [*_yielding_steps(problem, _answer_step(problem))]
    if problem.plan == pb.PLAN_SOURCE_MODEL:
        # Its steps were calculated from their inputs when they were read, and held against the solution.
        return frozenset(step.number for step in steps if calculates(step.expression))
    found = provenance_of(glossed(problem))
    if found.doubt:
        return frozenset()
    return frozenset(step.number for step in steps if calculates(step.expression) or found.gives(step.result.value))


def _agree(entry: LedgerEntry) -> bool:
    """Whether every piece of evidence gives the value of the entry."""
    own = entry.quantity
    others = [evidence.value for evidence in entry.evidence if evidence.value != own.value]
    return all(is_rounded(own.value, one) or is_right(one, own.value, own.unit, entry.tolerance) for one in others)
