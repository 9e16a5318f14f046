"""Weighs the programs of a turn: a settled value overrules them, and where nothing is settled a majority decides.

No majority decides against a value that the solution states, or may state in a unit that is in no table: one of both
is wrong, and nobody knows which.
"""

from copy import deepcopy

from soliloquy.recipes.codegen import has_run
from soliloquy.recipes.settled import StudentAnswer, program_fault
from soliloquy.recipes.verdicts import verdict
from soliloquy.runtime.events import Outcome, emit
from soliloquy.truth.judge import fits_stated
from soliloquy.truth.ledger import ledger_of
from soliloquy.v1.conversation_pb2 import Calculation, CodeAttempt, Conversation, LedgerEntry
from soliloquy.v1.events_pb2 import CalculationNeeded
from soliloquy.v1.sandbox_pb2 import STATUS_OK

# Programs for one description, where nothing is settled.
_MOST = 3


def further_opinion(conversation: Conversation, settled: StudentAnswer | None) -> Outcome | None:
    """Asks for another program where nothing settled decides the student's answer and no majority does yet."""
    calculation = conversation.turns[-1].calculation
    if not has_run(calculation) or calculation.overruled or settled is not None:
        return None
    said = _verdicts(calculation)
    is_first_without_verdict = len(said) == 1 and said[0] is None
    if is_first_without_verdict or len(said) >= _MOST or _majority(said) is not None:
        return None
    again = deepcopy(conversation)
    asked = again.turns[-1].calculation
    asked.opinions.extend(asked.attempts)
    del asked.attempts[:]
    return emit(CalculationNeeded(conversation=again))


def weighed(conversation: Conversation, settled: StudentAnswer | None) -> Conversation:
    """Returns the conversation with the program that counts as the last one of its turn, or none that counts."""
    calculation = conversation.turns[-1].calculation
    if not calculation.attempts or calculation.overruled:
        return conversation
    if settled is not None:
        wrong = program_fault(conversation.turns[-1], settled, conversation.problem)
        return _overruled(conversation, settled.output) if wrong else conversation
    if not calculation.opinions:
        return conversation
    decided = _majority(_verdicts(calculation))
    claims, ledger = conversation.turns[-1].student.claims, ledger_of(conversation.problem)
    known = [entry for claim in claims if (entry := ledger.entry(claim.quantity))]
    stated = fits_stated(claims, ledger)
    may_be_stated = stated is None and bool(known)
    if decided is None or stated is (not decided) or (may_be_stated and not decided):
        return _overruled(conversation, "")
    agreeing = [one for one in (calculation.attempts[-1], *calculation.opinions) if verdict(one.execution) is decided]
    # The value of the solution is told if any program of the majority comes to it.
    best = next((one for one in agreeing if any(_comes_to(one, entry) for entry in known)), agreeing[0])
    return conversation if best == calculation.attempts[-1] else _led_by(conversation, best)


def _comes_to(program: CodeAttempt, entry: LedgerEntry) -> bool:
    kinds = ((one.value, one.value.WhichOneof("kind")) for one in program.execution.values)
    found = [float(getattr(value, kind)) for value, kind in kinds if kind in ("real", "integer")]
    wanted = entry.quantity.value
    return any(abs(value - wanted) <= entry.tolerance * abs(wanted) for value in found)


def _verdicts(calculation: Calculation) -> list[bool | None]:
    programs = (*calculation.opinions, calculation.attempts[-1])
    return [verdict(one.execution) for one in programs if one.execution.status == STATUS_OK]


def _majority(said: list[bool | None]) -> bool | None:
    return next((found for found in (True, False) if 2 * said.count(found) > _MOST), None)


def _overruled(conversation: Conversation, output: str) -> Conversation:
    changed = deepcopy(conversation)
    calculation = changed.turns[-1].calculation
    calculation.overruled, calculation.settled_output = True, output
    return changed


def _led_by(conversation: Conversation, best: CodeAttempt) -> Conversation:
    """Exchanges the last program for one that counts more."""
    changed = deepcopy(conversation)
    calculation = changed.turns[-1].calculation
    place = next(at for at, one in enumerate(calculation.opinions) if one == best)
    outvoted, chosen = CodeAttempt(), CodeAttempt()
    outvoted.CopyFrom(calculation.attempts[-1])
    chosen.CopyFrom(calculation.opinions[place])
    calculation.opinions[place].CopyFrom(outvoted)
    calculation.attempts[-1].CopyFrom(chosen)
    return changed
